/**
 * More frequent checks while somebody has a domain's page open: notes in the database until when it is watched, which makes
 * its ladder quick (src/core/life/check.ts), and wakes its next check. All watched domains share one statement.
 */
import type { WatchedDomain, WatchedDomainStore } from '../db/domains/watched-domains.ts';

/** The pages that are open in this process. */
export type Watching = {
  /** Watches until the returned function is called, which is idempotent. Neither of them throws or waits. */
  watch(domainId: string): () => void;
  /** Stops all timers. What the database says stays until its time is over. */
  close(): void;
};

/** Where `store` or `promote` rejects, that is logged, and the next write tries again. */
export type WatchingDeps = {
  readonly store: Pick<WatchedDomainStore, 'watch'>;
  /** Runs the next check of a pending domain at once. */
  readonly promote: (domain: { domainId: string; epoch: number }) => Promise<void>;
  readonly now: () => Date;
  readonly log: {
    warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
  /** The wait between two checks while somebody watches (src/core/life/ladder.ts). */
  readonly checkEveryMs: number;
  /** How often what is still watched is written again; 20 s unless given. */
  readonly writeEveryMs?: number;
  /** For how long one write holds; 30 s unless given. */
  readonly watchedForMs?: number;
};

/** Our choice: a write each 20 s holds for 30, so that a page that is read again at once never loses its pace. */
const WRITE_EVERY_MS = 20_000;
const WATCHED_FOR_MS = 30_000;
/** Pages that open together, as after a restart, are written together. */
const TOGETHER_MS = 50;

/** `open`: how many pages show the domain. `writtenAt`: in ms of `performance.now()`, minus infinity where it never was. */
type Page = { open: number; writtenAt: number };

/** A first page is written after 50 ms, with all others that open meanwhile. */
export function createWatching(deps: WatchingDeps): Watching {
  const { store, promote, now, log, checkEveryMs } = deps;
  const { after, stop } = createTimers(log);
  const { writeEveryMs = WRITE_EVERY_MS, watchedForMs = WATCHED_FOR_MS } = deps;
  const pages = new Map<string, Page>();
  let isScheduled = false;

  /** Writes after this wait, and from then on as often as needed while a page is open. */
  function schedule(ms: number): void {
    if (isScheduled) return;
    isScheduled = true;
    after(ms, async () => {
      isScheduled = false;
      await write().finally(() => pages.size > 0 && schedule(nextWaitMs()));
    });
  }

  /** Until the first of them is to be written again. */
  function nextWaitMs(): number {
    const oldest = Math.min(...[...pages.values()].map(({ writtenAt }) => writtenAt));
    return Math.max(TOGETHER_MS, oldest + writeEveryMs - performance.now());
  }

  async function write(): Promise<void> {
    const at = performance.now();
    const due = [...pages].filter(([, { writtenAt }]) => at >= writtenAt + writeEveryMs);
    const watched = due.filter(([, { open }]) => open > 0).map(([id]) => id);
    for (const [id, page] of due) {
      if (page.open === 0) pages.delete(id);
      else page.writtenAt = at;
    }
    if (watched.length === 0) return;
    const until = new Date(now().getTime() + watchedForMs);
    for (const domain of await store.watch(watched, until)) {
      const waitMs = wakeAfterMs(domain, now(), checkEveryMs);
      const job = { domainId: domain.id, epoch: domain.epoch };
      if (waitMs !== null) after(waitMs, () => promote(job));
    }
  }

  return {
    watch(domainId) {
      const page = pages.get(domainId) ?? { open: 0, writtenAt: Number.NEGATIVE_INFINITY };
      page.open += 1;
      pages.set(domainId, page);
      // Whatever is scheduled may come much later than this one needs.
      if (page.writtenAt === Number.NEGATIVE_INFINITY) after(TOGETHER_MS, write);
      schedule(writeEveryMs);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        page.open -= 1;
      };
    },
    close() {
      stop();
      pages.clear();
    },
  };
}

/**
 * When a check that is further away than it now should be comes forward: `checkEveryMs` after the last one. Null: it comes
 * soon enough by itself.
 */
function wakeAfterMs(
  { lastCheckedAt, nextCheckAt }: WatchedDomain,
  now: Date,
  checkEveryMs: number,
): number | null {
  const at = now.getTime();
  const dueAt = Math.max(at, (lastCheckedAt?.getTime() ?? 0) + checkEveryMs);
  const isSoon = nextCheckAt !== null && nextCheckAt.getTime() <= dueAt + checkEveryMs;
  return isSoon ? null : dueAt - at;
}

/** Timers that are stopped together. An `act` that rejects is logged; the next write makes up for it. */
function createTimers(log: WatchingDeps['log']) {
  const timers = new Set<NodeJS.Timeout>();
  return {
    after(ms: number, act: () => Promise<void>): void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        act().catch((err) => log.warn({ err }, 'a watched domain is not checked sooner'));
      }, ms);
      timers.add(timer);
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
