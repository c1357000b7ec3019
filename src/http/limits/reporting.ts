/** Syncs a process's counts with the store. */
import { MINUTE } from '../../core/time.ts';
import type { Service } from '../../service/service.ts';
import type { Ledger, RateLimitStore } from './store.ts';
import type { Windows } from './windows.ts';

type SharedWindows = { readonly windows: Windows; readonly ledger: Ledger };

/** In rounds. */
type Reporting = {
  /** Schedules a round unless one is scheduled. Cheap; does nothing after `close`. */
  wake(): void;
  /** Starts a round as soon as the current one ends. Never rejects. */
  report(): Promise<void>;
  /** Waits for the current round. No round follows. */
  close(): Promise<void>;
};

/** Bursts within twice this time can exceed a quota (docs/decisions/0006-rate-limits.md). */
const GATHER_MS = 100;
/** While the store is unavailable, one ID of each limit is reported, to detect its recovery. */
const RETRY_MS = 1_000;
/** Per round and limit, so that a flood of addresses does not overload the store. */
const MAX_REPORTS = 25;
const SWEEP_MS = MINUTE;

/** Rounds never overlap. A failed report is not repeated: the store can have counted it. */
export function createReporting(
  { log, now }: Pick<Service, 'log' | 'now'>,
  store: RateLimitStore,
  limits: readonly SharedWindows[],
): Reporting {
  let isAway = false;
  let isAwaited = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let round = Promise.resolve();
  const sweeping = setInterval(() => void store.sweep().catch(() => {}), SWEEP_MS).unref();

  function wake(): void {
    if (isAwaited || isClosed) return;
    isAwaited = true;
    timer = setTimeout(() => void report().then(settled), isAway ? RETRY_MS : GATHER_MS).unref();
  }

  /** More can be due than fits into a round. */
  function settled(): void {
    isAwaited = false;
    if (limits.some(({ windows }) => windows.isDue)) wake();
  }

  function report(): Promise<void> {
    round = round.then(reportAll);
    return round;
  }

  async function reportAll(): Promise<void> {
    if (isClosed) return;
    const max = isAway ? 1 : MAX_REPORTS;
    const results = await Promise.allSettled(limits.flatMap((limit) => reportOf(limit, max, now)));
    if (isClosed || results.length === 0) return;
    const failed = results.find((result) => result.status === 'rejected');
    // Nothing changed, so nothing to log.
    if (isAway === (failed !== undefined)) return;
    isAway = failed !== undefined;
    // Log each outage once.
    if (isAway)
      log.warn(
        { err: failed?.reason },
        'rate limit store unavailable; each process counts separately',
      );
    else log.info({}, 'rate limit store available again');
  }

  return {
    wake,
    report,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      clearInterval(sweeping);
      await round;
      await store.close();
    },
  };
}

/** At most `max` IDs. Each promise rejects if the store does not answer. */
function reportOf(
  { windows, ledger }: SharedWindows,
  max: number,
  now: () => Date,
): Promise<void>[] {
  return windows.due(max, now().getTime()).map(async (report) => {
    const counted = await ledger(report.window.id, report.points);
    windows.acknowledge(report, counted, now().getTime());
  });
}
