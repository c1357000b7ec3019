/**
 * What is new, for all streams of a process: one question to the database twice a second about every project that
 * somebody follows, and none while nobody does. Other processes' events are seen as soon as this one's.
 */
import type { EventFeedStore } from '../db/events.ts';

export type Feed = {
  /** Follows a project from `newest`, the number that was read just now. */
  follow(projectId: string, newest: bigint): Following;
  /** Asks no more. */
  close(): void;
};

export type Following = {
  /** The number of the newest event; a smaller one than before where the database was put back. */
  newest(): bigint;
  /** Settles as soon as `newest` is another than `known`, or after `ms`, or when the signal aborts. Never rejects. */
  change(known: bigint, ms: number, signal: AbortSignal): Promise<void>;
  /** Settles what waits for a change, because there is news of another kind. */
  wake(): void;
  end(): void;
};

export type FeedDeps = {
  readonly lastNumbers: (projectIds: readonly string[]) => Promise<ReadonlyMap<string, bigint>>;
  readonly log: Readonly<
    Record<'info' | 'warn', (fields: Readonly<Record<string, unknown>>, message: string) => void>
  >;
  readonly pollMs?: number;
};

type Project = {
  newest: bigint;
  /** When `newest` was read, by the process's own clock. */
  readAt: number;
  readonly waiting: Set<() => void>;
  followers: number;
};

export const POLL_MS = 500; // our choice: an event shows within a second, and 1,000 projects cost two short statements

export function createFeed({ lastNumbers, log, pollMs = POLL_MS }: FeedDeps): Feed {
  const projects = new Map<string, Project>();
  let isAway = false;

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    try {
      const found = await lastNumbers([...projects.keys()]);
      for (const [id, newest] of found) learn(projects.get(id), newest, startedAt);
      if (isAway) log.info({}, 'streams go on: the database answers again');
      isAway = false;
    } catch (err) {
      // Streams stay open and go on where they are.
      if (!isAway) log.warn({ err }, 'streams wait: the database does not answer');
      isAway = true;
    }
  }

  const polling = every(pollMs, poll, () => projects.size > 0);

  function follow(projectId: string, newest: bigint): Following {
    const known = projects.get(projectId);
    const project = known ?? { newest, readAt: 0, waiting: new Set(), followers: 0 };
    projects.set(projectId, project);
    project.followers += 1;
    learn(project, newest, 0);
    project.readAt = performance.now();
    polling.wake();
    let hasEnded = false;
    return {
      newest: () => project.newest,
      change: (seen, ms, signal) => changeOf(project, seen, ms, signal),
      wake: () => wakeAll(project),
      end() {
        if (hasEnded) return;
        hasEnded = true;
        project.followers -= 1;
        if (project.followers === 0) projects.delete(projectId);
        if (projects.size === 0) polling.rest();
      },
    };
  }

  return { follow, close: polling.close };
}

/** A smaller number counts only where it was read after the one that is known: then the database was put back. */
function learn(project: Project | undefined, newest: bigint, startedAt: number): void {
  if (project === undefined || newest === project.newest) return;
  if (newest < project.newest && startedAt <= project.readAt) return;
  project.newest = newest;
  project.readAt = Math.max(project.readAt, startedAt);
  wakeAll(project);
}

function wakeAll({ waiting }: Project): void {
  for (const wake of [...waiting]) wake();
}

function changeOf(project: Project, known: bigint, ms: number, signal: AbortSignal): Promise<void> {
  if (project.newest !== known || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      project.waiting.delete(done);
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    project.waiting.add(done);
    signal.addEventListener('abort', done);
  });
}

/** Acts after each pause while it is wanted; `wake` says that it may be wanted again. `act` never rejects. */
export function every(pauseMs: number, act: () => Promise<void>, isWanted: () => boolean) {
  let timer: NodeJS.Timeout | null = null;
  let isActing = false;
  let isClosed = false;
  function wake(): void {
    if (timer !== null || isActing || isClosed || !isWanted()) return;
    timer = setTimeout(() => {
      timer = null;
      isActing = true;
      void act().finally(() => {
        isActing = false;
        wake();
      });
    }, pauseMs);
  }
  function rest(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }
  return {
    wake,
    rest,
    close() {
      isClosed = true;
      rest();
    },
  };
}

/**
 * Reads a page once for everybody who asks while it is being read. It is what each of them would have read: up to `upTo`
 * every event is there for good.
 */
export function sharePages(page: EventFeedStore['page']): EventFeedStore['page'] {
  const reading = new Map<string, ReturnType<EventFeedStore['page']>>();
  return (range) => {
    const { projectId, domainId, after, upTo, limit } = range;
    const key = `${projectId} ${domainId} ${after} ${upTo} ${limit}`;
    const known = reading.get(key);
    if (known !== undefined) return known;
    const rows = page(range).finally(() => reading.delete(key));
    reading.set(key, rows);
    return rows;
  };
}
