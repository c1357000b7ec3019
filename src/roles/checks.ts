/** How a worker observes one domain, and the rules that decide what it means. */
import type { Config } from '../config/config.ts';
import { checkDepthOf } from '../core/diagnosis/check-depth.ts';
import type { Observation } from '../core/diagnosis/observation.ts';
import type { CheckRules } from '../core/life/check.ts';
import { splitAtZone } from '../core/names/zone.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import type { Earlier } from '../dns/observe/observe.ts';
import { inSpan } from '../net/tracing.ts';
import type { Parts } from './parts.ts';

/**
 * Observes one domain, in a span of its own because it is what a check waits for. `earlier`: what may be found unchanged
 * by a few questions, and is then the result. Never rejects for what the network does.
 */
export function observeDomain(
  { observer }: Parts,
  domain: { readonly hostname: string; readonly target: string },
  earlier?: Earlier,
): Promise<Observation> {
  return inSpan('observe the DNS', {}, () => observer.observe(checkTargetOf(domain), earlier));
}

/** Returns what was seen of a domain before; undefined where it has to be checked in full now. */
export function earlierOf({ now, config }: Parts, domain: LoadedDomain): Earlier | undefined {
  const depth = checkDepthOf(domain, now(), config.verifyWindowMs);
  const { observation } = domain;
  return depth === 'full' || observation === null ? undefined : { observation, depth };
}

function checkTargetOf({
  hostname,
  target,
}: {
  readonly hostname: string;
  readonly target: string;
}) {
  return { hostname, target, apex: splitAtZone(hostname).apex };
}

/** Returns the rules of a check at `now`, with a jitter of 0 to 1 drawn for it. */
export function checkRules({ verifyWindowMs, escalateAfterMs }: Config, now: Date): CheckRules {
  const jitter = Math.random();
  return { now, windowMs: verifyWindowMs, escalateAfterMs, jitter };
}
