/**
 * Moves due deliveries to the queue, a few of each webhook at a time: the backlog of a slow
 * receiver delays no other. Runs on a timer in every worker process. Rows are marked before their
 * jobs are added, since a job could finish before a later mark; marked rows whose jobs are lost are
 * queued again.
 */
import type { DeliveryTimes, QueuedDelivery } from '../src/db/delivery/delivery-times.ts';

export type RelayDeliveriesDeps = DeliveryTimes & {
  /** Adds the missing jobs, due at `at`. */
  enqueue(deliveries: readonly QueuedDelivery[], at: Date): Promise<void>;
  /** A lease: true for one caller per `everyMs`. */
  takeTurn(name: string, everyMs: number): Promise<boolean>;
  /** Maximum jobs of one webhook in the queue. */
  readonly inFlight: number;
  /** A job without progress for this long is lost and queued again. */
  readonly lostAfterMs: number;
  pause(ms: number): Promise<void>;
  now(): Date;
};

/** Per command to the queue. */
const BATCH = 500;
/** A fast receiver gets its next deliveries without waiting for the timer. */
const ROUNDS = 5;
const ROUND_MS = 90;
/** docs/integrate/webhooks.md states it. */
const KEPT_MS = 30 * 24 * 3_600_000;
/**
 * PostgreSQL deletes 80,000 rows a second on 2 cores, so one run per minute keeps up with 1,300
 * attempts a second. Replays add rows no faster than workers process them.
 */
const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 5_000;
/** No delivery is queued during a pruning. */
const PRUNING_MS = 1_000;
/** How often within `lostAfterMs` it looks for lost jobs and disabled webhooks. */
const TEND_SHARE = 6;

/**
 * One per process, called twice a second; resolves with the number of queued deliveries. After
 * `stop` is aborted it starts no further round. Rejects if the database or the queue is down; what
 * was not queued stays due.
 */
export function createRelay(deps: RelayDeliveriesDeps): (stop?: AbortSignal) => Promise<number> {
  let tendAt = 0;
  return async (stop = new AbortController().signal) => {
    const now = deps.now().getTime();
    let relayed = 0;
    if (now >= tendAt) {
      tendAt = now + deps.lostAfterMs / TEND_SHARE;
      relayed += await tend(deps, stop);
    }
    for (let round = 0; round < ROUNDS && !stop.aborted; round += 1) {
      const at = deps.now();
      const count = await give(deps, at, await deps.giveDue(at, deps.inFlight, BATCH));
      relayed += count;
      if (count === 0) break;
      if (round < ROUNDS - 1) await deps.pause(ROUND_MS);
    }
    return relayed;
  };
}

async function give(
  deps: RelayDeliveriesDeps,
  at: Date,
  given: readonly QueuedDelivery[],
): Promise<number> {
  if (given.length === 0) return 0;
  try {
    await deps.enqueue(given, at);
  } catch (fault) {
    const ids = given.map(({ id }) => id);
    await deps.takeBack(ids, at);
    throw fault;
  }
  return given.length;
}

async function tend(deps: RelayDeliveriesDeps, stop: AbortSignal): Promise<number> {
  const at = deps.now();
  const lost = await deps.giveAgain(new Date(at.getTime() - deps.lostAfterMs), at, BATCH);
  const given = await give(deps, at, lost);
  if (stop.aborted) return given;
  await deps.endOfOff();
  if (await deps.takeTurn('prune-deliveries', PRUNE_EVERY_MS)) await prune(deps, at, stop);
  return given;
}

async function prune(deps: RelayDeliveriesDeps, now: Date, stop: AbortSignal): Promise<void> {
  const before = new Date(now.getTime() - KEPT_MS);
  while (!stop.aborted && (await deps.prune(before, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE) {
    if (deps.now().getTime() - now.getTime() > PRUNING_MS) return;
  }
  if (stop.aborted) return;
  await deps.pruneWebhooks(before);
}
