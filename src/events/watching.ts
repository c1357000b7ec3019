/**
 * Speeds up a domain's checks while its page is open (src/core/life/check.ts). Each domain was found
 * with the access of its page.
 */
import { wholeInstallation } from '../core/access.ts';
import type { WatchedDomain, WatchedDomainStore } from '../db/domains/watched-domains.ts';

/** If `store` or `promote` rejects, that is logged, and the next write tries again. */
export type WatchingDeps = {
  readonly store: Pick<WatchedDomainStore, 'watch'>;
  /** Runs the next check of a pending domain at once. */
  readonly promote: (domain: { domainId: string; epoch: number }) => Promise<void>;
  readonly now: () => Date;
  readonly log: {
    warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
  /** The wait between two checks of a watched domain (src/core/life/ladder.ts). */
  readonly checkEveryMs: number;
  /** How often watched domains are written again. */
  readonly writeEveryMs?: number;
  /** How long one write is valid. */
  readonly watchedForMs?: number;
};

/** A write is valid longer than the interval, so that a reloaded page never slows the checks. */
const WRITE_EVERY_MS = 20_000;
const WATCHED_FOR_MS = 30_000;
/** Pages that open together, as after a restart, share a write. */
const TOGETHER_MS = 50;

/** `writtenAt`: in ms of `performance.now()`, minus infinity if never. */
type OpenPage = { open: number; writtenAt: number };

/** A first page is written after TOGETHER_MS, with all others that open until then. */
export function createWatching(deps: WatchingDeps) {
  const { store, promote, now, log, checkEveryMs } = deps;
  const { after, stop } = createTimers(log);
  const { writeEveryMs = WRITE_EVERY_MS, watchedForMs = WATCHED_FOR_MS } = deps;
  const pages = new Map<string, OpenPage>();
  let isScheduled = false;

  /** Writes after this wait, then as often as needed while a page is open. */
  function schedule(ms: number): void {
    if (isScheduled) return;
    isScheduled = true;
    after(ms, async () => {
      isScheduled = false;
      await write().finally(() => pages.size > 0 && schedule(nextWaitMs()));
    });
  }

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
    for (const domain of await store.watch(wholeInstallation, watched, until)) {
      const waitMs = wakeAfterMs(domain, now(), checkEveryMs);
      const job = { domainId: domain.id, epoch: domain.epoch };
      if (waitMs !== null) after(waitMs, () => promote(job));
    }
  }

  return {
    /** The returned function is idempotent. Neither throws nor waits. */
    watch(domainId: string): () => void {
      const page = pages.get(domainId) ?? { open: 0, writtenAt: Number.NEGATIVE_INFINITY };
      page.open += 1;
      pages.set(domainId, page);
      // The scheduled write may be too late for this page.
      if (page.writtenAt === Number.NEGATIVE_INFINITY) after(TOGETHER_MS, write);
      schedule(writeEveryMs);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        page.open -= 1;
      };
    },
    /** Stored times stay until they expire. */
    close(): void {
      stop();
      pages.clear();
    },
  };
}

export type Watching = ReturnType<typeof createWatching>;

/** `checkEveryMs` after the last check. Null: the planned time is soon enough. */
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

/** Timers that stop together. If `act` rejects, that is logged; the next write compensates. */
function createTimers(log: WatchingDeps['log']) {
  const timers = new Set<NodeJS.Timeout>();
  return {
    after(ms: number, act: () => Promise<void>): void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        act().catch((err) =>
          log.warn({ err }, 'could not speed up the checks of a watched domain'),
        );
      }, ms);
      timers.add(timer);
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
