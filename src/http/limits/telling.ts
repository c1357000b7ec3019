/** Tells the store what was taken, gathered per id, and carries its answers back into the windows. */
import type { Logger } from 'pino';
import type { Ledger, RateLimitStore, Windows } from './windows.ts';

/** The windows of one limit, and where they are told. */
export type Shared = { readonly windows: Windows; readonly ledger: Ledger };

export type Reporting = {
  /** Something was taken: a round is to come. Cheap enough for every request. */
  wake(): void;
  /** A round now. Never rejects. */
  report(): Promise<void>;
  /** Waits for the round under way, and closes the store. */
  close(): Promise<void>;
};

export type ReportingDeps = {
  readonly store: RateLimitStore;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly now: () => Date;
};

/** Our choice: what reaches all processes in twice this time may exceed a quota; figures in docs/decisions/0006-rate-limits.md. */
const GATHER_MS = 100;
/** While the store is away, it is asked about one id of each limit as often as this. */
const RETRY_MS = 1_000;
/** Our choice: commands of one round and limit, 250 a second, so that no flood of addresses becomes one of the store. */
const MAX_REPORTS = 25;
const SWEEP_MS = 60_000;

/**
 * A round begins GATHER_MS after the first request that it will tell, never before the last one has ended. What could not
 * be told is not told again, because it may have been counted; this process goes on counting it for itself.
 */
export function createReporting({ store, log, now }: ReportingDeps, limits: readonly Shared[]) {
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
    if (isAway === (failed !== undefined)) return;
    isAway = failed !== undefined;
    // Once for each outage, whatever it costs in rounds.
    if (isAway) log.warn({ err: failed?.reason }, 'rate limits are counted by each process alone');
    else log.info({}, 'rate limits are counted together again');
  }

  const reporting: Reporting = {
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
  return reporting;
}

function reportOf({ windows, ledger }: Shared, max: number, now: () => Date): Promise<void>[] {
  return windows.due(max, now().getTime()).map(async (report) => {
    const counted = await ledger(report.window.id, report.points);
    windows.acknowledge(report, counted, now().getTime());
  });
}
