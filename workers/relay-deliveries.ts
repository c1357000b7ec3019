/**
 * Gives the queue the deliveries that are due, a few of each webhook at a time: the backlog of a slow receiver waits in
 * PostgreSQL, where it holds up no other. On a timer in every worker process. Marked first and then given, because a job
 * may be over before a mark that came later; what is marked and lost is given again.
 */
import type { DeliveryTimes, Given } from '../src/db/delivery/delivery-times.ts';

/** What a relay needs of the process that it runs in. */
export type RelayDeliveriesDeps = DeliveryTimes & {
  /** Adds the jobs that are not there, due at `at`. */
  enqueue(deliveries: readonly Given[], at: Date): Promise<void>;
  /** Whether it is this caller's turn: true for one caller in `everyMs` ms. */
  takeTurn(name: string, everyMs: number): Promise<boolean>;
  /** How many deliveries of one webhook the queue holds at most. */
  readonly inFlight: number;
  /** A job that nobody has worked on for so long is lost, and given again. */
  readonly lostAfterMs: number;
  pause(ms: number): Promise<void>;
  now(): Date;
};

/** How many deliveries one command to the queue carries. */
const BATCH = 500;
/** A receiver that answers at once gets its next ones at once, not at the next turn of the timer. */
const ROUNDS = 5;
const ROUND_MS = 90;
/** How long a delivery that has ended is kept; docs/api.md publishes it. */
const KEPT_MS = 30 * 24 * 3_600_000;
/**
 * PostgreSQL removed 80,000 rows a second on 2 cores, and a turn has one: what 1,300 attempts a second leave in a minute.
 * No replay brings rows faster than the workers try them: what ended was tried, or is its event's only delivery to that
 * webhook (src/db/delivery/replay-deliveries.ts).
 */
const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 5_000;
/** How long a turn prunes at most; nothing is given to the queue meanwhile. */
const PRUNING_MS = 1_000;
/** How many times within `lostAfterMs` it checks for what was lost, and for what is left of webhooks that are off. */
const TEND_SHARE = 6;

/**
 * Returns the relay of one process, which is called twice a second and resolves with how many deliveries it gave to the
 * queue. Once `stop` is aborted it begins no further round. Rejects where the database or the queue is away; what the
 * queue did not take waits on.
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

async function give(deps: RelayDeliveriesDeps, at: Date, given: readonly Given[]): Promise<number> {
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
