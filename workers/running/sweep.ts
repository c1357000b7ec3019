/**
 * Domains without a job have a time in their row (docs/decisions/0012). A sweep takes what is due
 * in batches and ends when nothing is due. A domain that was taken several times without a save is
 * processed last and alone, since it can crash the worker.
 */

import { failureReason, quarantine, sweepLeasesMs } from '../../src/core/operations/quarantine.ts';
import { scaledMs } from '../../src/core/time.ts';
import {
  type DueDomains,
  type Lease,
  type SweepName,
  sweeps,
  type TakenDomain,
} from '../../src/db/domains/sweeps.ts';
import { isOutage } from '../../src/queue/outage.ts';
import type { Service } from '../../src/service/service.ts';

export type SweepRun = {
  readonly due: DueDomains;
  /** Called for every batch. */
  lease(): Lease;
  work(id: string): Promise<void>;
  /** Other domains continue. The domain is due again when its lease ends. */
  onFault(fault: unknown, id: string): void;
  readonly batch: number;
  readonly atOnce: number;
};

/**
 * Returns the number of processed domains. After `stop` is aborted running work finishes. An outage
 * is thrown, since every other domain would fail, too. Unprocessed domains are released.
 */
export async function sweep(given: SweepRun, stop: AbortSignal): Promise<number> {
  const together = await sweepThrough(given, false, stop);
  const alone = await sweepThrough({ ...given, batch: 1, atOnce: 1 }, true, stop);
  return together + alone;
}

async function sweepThrough(
  given: SweepRun,
  suspects: boolean,
  stop: AbortSignal,
): Promise<number> {
  const { due, lease, batch, atOnce } = given;
  /** Taken, not yet processed. */
  const open = new Set<string>();
  let waiting: TakenDomain[] = [];
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

  /** Concurrent callers wait for the batch. */
  async function next(): Promise<TakenDomain | undefined> {
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
  // An outage or a stop. If the release fails, the leases expire.
  if (open.size > 0) await due.giveBack([...open], lease()).catch(() => {});
  const fault = ends.find((end) => end.status === 'rejected');
  if (fault !== undefined) throw fault.reason;
  return worked;
}

/** Throws outages only. */
async function workOnOne(
  { due, lease, work, onFault }: SweepRun,
  { id, takes }: TakenDomain,
): Promise<void> {
  try {
    await work(id);
  } catch (fault) {
    if (isOutage(fault)) throw fault;
    onFault(fault, id);
    if (takes >= quarantine.takesSuspicious)
      await due.noteReason(id, failureReason(errorOf(fault)));
    return;
  }
  // The first take is settled by the save.
  if (takes > 1) await due.settle(id, lease());
}

function errorOf(fault: unknown) {
  return fault instanceof Error ? fault : { name: 'Thrown', message: String(fault) };
}

type UsualLease = {
  readonly usualMs: number;
  /** The minimum, whatever TIME_SCALE is. */
  readonly leastMs: number;
};

function leaseNow(
  { config: { timeScale }, now: clock }: Pick<Service, 'config' | 'now'>,
  { usualMs, leastMs }: UsualLease,
): Lease {
  const now = clock();
  return { now, leasesMs: sweepLeasesMs(scaledMs(usualMs, timeScale, leastMs), timeScale) };
}

type SweepPlan = Pick<SweepRun, 'work' | 'batch' | 'atOnce'> & { readonly lease: UsualLease };

/** As `sweep`, over the domains that are due. Faults of single domains are logged. */
export async function sweepDue(
  service: Service,
  name: SweepName,
  { lease, ...plan }: SweepPlan,
  stop: AbortSignal,
): Promise<void> {
  const { queue } = sweeps[name];
  const onFault = (err: unknown, domainId: string) =>
    service.log.error({ err, queue, domainId }, 'sweep failed for one domain');
  const due = service.due[name];
  await sweep({ ...plan, due, lease: () => leaseNow(service, lease), onFault }, stop);
}
