/** Each project's newest event number: one query per POLL_MS for all streams of a process. */
import type { Access } from '../core/access.ts';
import type { EventRange, EventRow } from '../db/events.ts';

type Following = {
  /** Decreases if the database was restored. */
  newest(): bigint;
  /** Settles when `newest` is not `known`, after `ms`, or on the signal. Never rejects. */
  change(known: bigint, ms: number, signal: AbortSignal): Promise<void>;
  /** Settles every pending `change` of this project, because a check must be sent. */
  wake(): void;
  /** Call it when the stream ends. Idempotent. */
  end(): void;
};

/** `lastNumbers` may reject: the feed logs the first failure and retries after the next pause. */
export type FeedDeps = {
  readonly lastNumbers: (projectIds: readonly string[]) => Promise<ReadonlyMap<string, bigint>>;
  readonly log: Readonly<
    Record<'info' | 'warn', (fields: Readonly<Record<string, unknown>>, message: string) => void>
  >;
  readonly pollMs?: number;
};

type ProjectFeed = {
  newest: bigint;
  /** When `newest` was read, by the process's clock. */
  readAt: number;
  readonly waiting: Set<() => void>;
  followers: number;
};

const POLL_MS = 500; // an event shows within a second, and 1,000 projects cost two short statements

/** Starts with the first follower and stops with the last. */
export function createFeed({ lastNumbers, log, pollMs = POLL_MS }: FeedDeps) {
  const projects = new Map<string, ProjectFeed>();
  let isAway = false;

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    try {
      const found = await lastNumbers([...projects.keys()]);
      for (const [id, newest] of found) learn(projects.get(id), newest, startedAt);
      if (isAway) log.info({}, 'streams resume: the database answers again');
      isAway = false;
    } catch (err) {
      // Streams stay open and continue from their position when the database returns.
      if (!isAway) log.warn({ err }, 'streams wait: the database does not answer');
      isAway = true;
    }
  }

  const polling = every(pollMs, poll, () => projects.size > 0);

  /** `newest`: the number of its newest event, just read. */
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

  // After `close`, pending `change` calls settle by their timeout or signal.
  return { follow, close: polling.close };
}

export type Feed = ReturnType<typeof createFeed>;

/** A smaller number read later than the known one: the database was restored. */
function learn(project: ProjectFeed | undefined, newest: bigint, startedAt: number): void {
  if (project === undefined || newest === project.newest) return;
  if (newest < project.newest && startedAt <= project.readAt) return;
  project.newest = newest;
  project.readAt = Math.max(project.readAt, startedAt);
  wakeAll(project);
}

function wakeAll({ waiting }: ProjectFeed): void {
  for (const wake of [...waiting]) wake();
}

function changeOf(
  project: ProjectFeed,
  known: bigint,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
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

/** The next pause starts when `act` has settled, which must not reject. */
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

/** In order of numbers. */
export type ReadPage = (access: Access, range: EventRange) => Promise<EventRow[]>;

/**
 * The same for all with one access, because every event up to `upTo` is committed. Shares
 * rejections, too.
 */
export function sharePages(page: ReadPage): ReadPage {
  const reading = new Map<string, ReturnType<ReadPage>>();
  return (access, range) => {
    const { projectId, hostname, after, upTo, limit } = range;
    const key = `${nameOf(access)} ${projectId} ${hostname} ${after} ${upTo} ${limit}`;
    const known = reading.get(key);
    if (known !== undefined) return known;
    const rows = page(access, range).finally(() => reading.delete(key));
    reading.set(key, rows);
    return rows;
  };
}

function nameOf(access: Access): string {
  if (access.kind === 'installation') return access.kind;
  return `${access.accountId} ${access.projectIds}`;
}
