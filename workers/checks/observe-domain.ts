import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import { type DiagnosisForAny, diagnoseForAny } from '../../src/core/diagnosis/diagnosis.ts';
import type { Observation, Observed } from '../../src/core/diagnosis/observation.ts';
import { splitAtZone } from '../../src/core/names/zone.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { inSpan } from '../../src/net/tracing.ts';
import type { Service } from '../../src/service/service.ts';

type ObservedName = Pick<LoadedDomain, 'hostname' | 'target' | 'projectId'>;

/** In full. Network failures do not reject it. */
export async function observeDomain(
  service: Pick<Service, 'accountOf' | 'observer'>,
  domain: ObservedName,
): Promise<Observation> {
  const target = await checkTargetOf(service, domain);
  return inSpan('observe the DNS', {}, () => service.observer.observe(target));
}

/** A light check unless a full one is due. */
export async function observeAgain(
  service: Pick<Service, 'accountOf' | 'config' | 'now' | 'observer'>,
  domain: LoadedDomain,
): Promise<Observed> {
  const { now, config, observer } = service;
  const { observation } = domain;
  const depth = checkDepthOf(domain, now(), config.verifyWindowMs);
  if (depth === 'full' || observation === null) {
    return { kind: 'observed', observation: await observeDomain(service, domain) };
  }
  const earlier = { observation, depth };
  const target = await checkTargetOf(service, domain);
  return inSpan('observe the DNS', {}, () => observer.observeAgain(target, earlier));
}

async function checkTargetOf(
  { accountOf }: Pick<Service, 'accountOf'>,
  { hostname, target, projectId }: ObservedName,
) {
  const owner = await accountOf(projectId);
  return { hostname, target, apex: splitAtZone(hostname).apex, owner };
}

/** For every CA in use. `forbidden`: indexes of the CAs that CAA forbids. */
export async function diagnoseDomain(
  { caaAuthorities, config }: Pick<Service, 'caaAuthorities' | 'config'>,
  { hostname, target }: LoadedDomain,
  observation: Observation,
): Promise<DiagnosisForAny> {
  const authorities = await caaAuthorities();
  const { allowPrivate } = config.dns;
  return diagnoseForAny(observation, { hostname, target, authorities, allowPrivate });
}
