/** Whether this worker's own resolvers and network answer, by its last checks. */
import { Gauge, type Registry } from 'prom-client';
import { thresholds } from '../../core/operations/thresholds.ts';
import { MINUTE } from '../../core/time.ts';

export type ResolverHealth = {
  /** `isOurTrouble`: the check got no usable answer, and the cause is ours. */
  note(isOurTrouble: boolean): void;
  isFailing(): boolean;
};

const KEPT = 20;
const KEPT_MS = 2 * MINUTE;
/** Fewer say nothing. */
const CHECKS_MIN = 3;

export function createResolverHealth(
  registry: Registry,
  now: () => number = () => performance.now(),
): ResolverHealth {
  const checks: { readonly at: number; readonly isOurTrouble: boolean }[] = [];
  function isFailing(): boolean {
    const recent = checks.filter(({ at }) => now() - at < KEPT_MS);
    const failed = recent.filter(({ isOurTrouble }) => isOurTrouble).length;
    return recent.length >= CHECKS_MIN && failed > recent.length * thresholds.unknownShare;
  }
  new Gauge({
    name: 'signpost_resolvers_failing',
    help: '1 if most recent checks of this worker failed because of its own resolvers or network, else 0',
    registers: [registry],
    collect() {
      this.set(isFailing() ? 1 : 0);
    },
  });
  return {
    note(isOurTrouble) {
      checks.push({ at: now(), isOurTrouble });
      if (checks.length > KEPT) checks.shift();
    },
    isFailing,
  };
}
