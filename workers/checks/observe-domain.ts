import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import type { Observation, Observed } from '../../src/core/diagnosis/observation.ts';
import { splitAtZone } from '../../src/core/names/zone.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { inSpan } from '../../src/net/tracing.ts';
import type { Service } from '../../src/service/service.ts';

type ObservedName = { readonly hostname: string; readonly target: string };

/** In full. Network failures do not reject it. */
export function observeDomain(
  { observer }: Pick<Service, 'observer'>,
  domain: ObservedName,
): Promise<Observation> {
  return inSpan('observe the DNS', {}, () => observer.observe(checkTargetOf(domain)));
}

/** A light check unless a full one is due. */
export async function observeAgain(
  service: Pick<Service, 'config' | 'now' | 'observer'>,
  domain: LoadedDomain,
): Promise<Observed> {
  const { now, config, observer } = service;
  const { observation } = domain;
  const depth = checkDepthOf(domain, now(), config.verifyWindowMs);
  if (depth === 'full' || observation === null) {
    return { kind: 'observed', observation: await observeDomain(service, domain) };
  }
  const earlier = { observation, depth };
  return inSpan('observe the DNS', {}, () => observer.observeAgain(checkTargetOf(domain), earlier));
}

function checkTargetOf({ hostname, target }: ObservedName) {
  return { hostname, target, apex: splitAtZone(hostname).apex };
}
