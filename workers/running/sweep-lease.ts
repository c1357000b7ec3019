/** For how long the sweeps lease what they take. */
import type { CheckRules } from '../../src/core/check.ts';
import { scaleOf } from '../../src/core/ladder.ts';
import { sweepLeasesMs } from '../../src/core/quarantine.ts';
import type { Lease } from '../../src/db/sweeps.ts';

/** What work on one batch takes at most. */
export type UsualLease = {
  readonly usualMs: number;
  /** However short a laboratory makes its window. */
  readonly leastMs: number;
};

/** The leases of what is taken now. */
export function leaseNow(
  { now: clock, rules }: { now(): Date; rules(now: Date): CheckRules },
  { usualMs, leastMs }: UsualLease,
): Lease {
  const now = clock();
  const scale = scaleOf(rules(now).windowMs);
  return { now, leasesMs: sweepLeasesMs(Math.max(leastMs, usualMs * scale), scale) };
}
