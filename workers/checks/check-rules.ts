import type { CheckRules } from '../../src/core/life/check.ts';
import type { Service } from '../../src/service/service.ts';

/** With a new random jitter. */
export function checkRules({ config, random }: Pick<Service, 'config' | 'random'>, now: Date) {
  const { verifyWindowMs: windowMs, timeScale, escalateAfterMs } = config;
  return { now, windowMs, timeScale, escalateAfterMs, jitter: random() } satisfies CheckRules;
}
