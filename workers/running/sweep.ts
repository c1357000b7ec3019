/**
 * What the sweeps share: domains that wait for nothing have no job of their own, but a time in their row
 * (docs/decisions/0012). A sweep takes what is due in batches, works on some of it at once, and ends when nothing is
 * due. A domain that it took several times without a save is taken at the end, one at a time: it may be what kills the
 * worker.
 */

import type { CheckRules } from '../../src/core/life/check.ts';
import { scaleOf } from '../../src/core/life/ladder.ts';
import { quarantine, reasonOf, sweepLeasesMs } from '../../src/core/operations/quarantine.ts';
import type { DueDomains, Lease, Taken } from '../../src/db/domains/sweeps.ts';
import { isUnavailable } from '../../src/db/engine/unavailable.ts';
import { isQueueUnavailable } from '../../src/queue/backend.ts';

/** What a sweep takes, and what it does with it. */
export type Sweep = {
  readonly due: DueDomains;
  /** How long what is taken now is leased; called for every batch. */
  lease(): Lease;
  /** Works on one domain. */
  work(id: string): Promise<void>;
  /** Called with the fault of one domain, which stops no other; it comes again when its lease ends. */
  onFault(fault: unknown, id: string): void;
  /** The largest batch to take. */
  readonly batch: number;
  /** How many domains are worked on at a time. */
  readonly atOnce: number;
};

/**
 * Resolves with how many domains were worked on. Once `stop` is aborted nothing more is begun; what is under way is
 * finished. An outage of ours, in taking or in working, ends the sweep and is thrown: every other domain would only meet
 * it, too. What was taken and not worked on is given back.
 */
export async function sweep(given: Sweep, stop: AbortSignal): Promise<number> {
  const together = await sweepThrough(given, false, stop);
  const alone = await sweepThrough({ ...given, batch: 1, atOnce: 1 }, true, stop);
  return together + alone;
}

async function sweepThrough(given: Sweep, suspects: boolean, stop: AbortSignal): Promise<number> {
  const { due, lease, batch, atOnce } = given;
  /** Taken and not worked on to an end. */
  const open = new Set<string>();
  let waiting: Taken[] = [];
  let mayBeMore = true;
  let refill: Promise<void> | null = null;
  let broken = false;
  let worked = 0;

  async function takeMore(): Promise<void> {
    const taken = await due.take({ ...lease(), limit: batch, suspects });
    for (const { id } of taken) open.add(id);
    waiting = [...taken];
    mayBeMore = taken.length >= batch;
    refill = null;
  }

  /** One batch is taken at a time, by whoever finds none left; the others wait for it. */
  async function next(): Promise<Taken | undefined> {
    while (waiting.length === 0 && mayBeMore && !stop.aborted && !broken) {
      refill ??= takeMore();
      await refill;
    }
    return stop.aborted || broken ? undefined : waiting.shift();
  }

  async function workOn(): Promise<void> {
    try {
      for (let one = await next(); one !== undefined; one = await next()) {
        await workOnOne(given, one);
        open.delete(one.id);
        worked += 1;
      }
    } catch (fault) {
      broken = true;
      throw fault;
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: atOnce }, workOn));
  // An outage, or a stop. Where the database is away they are given back before the next take.
  if (open.size > 0) await due.giveBack([...open], lease()).catch(() => {});
  const fault = ends.find((end) => end.status === 'rejected');
  if (fault !== undefined) throw fault.reason;
  return worked;
}

/** Throws outages only. */
async function workOnOne(
  { due, lease, work, onFault }: Sweep,
  { id, takes }: Taken,
): Promise<void> {
  try {
    await work(id);
  } catch (fault) {
    if (isUnavailable(fault) || isQueueUnavailable(fault)) throw fault;
    onFault(fault, id);
    if (takes >= quarantine.takesSuspicious) await due.noteReason(id, reasonOf(errorOf(fault)));
    return;
  }
  // The first time the save has said so.
  if (takes > 1) await due.settle(id, lease());
}

function errorOf(fault: unknown) {
  return fault instanceof Error ? fault : { name: 'Thrown', message: String(fault) };
}

/** How long work on one batch takes at most, in ms. */
export type UsualLease = {
  readonly usualMs: number;
  /** Not less than this, however short a laboratory makes its window. */
  readonly leastMs: number;
};

/** Returns the leases of what is taken now, shortened for a laboratory's window. */
export function leaseNow(
  { now: clock, rules }: { now(): Date; rules(now: Date): CheckRules },
  { usualMs, leastMs }: UsualLease,
): Lease {
  const now = clock();
  const scale = scaleOf(rules(now).windowMs);
  return { now, leasesMs: sweepLeasesMs(Math.max(leastMs, usualMs * scale), scale) };
}
