import { type DiagnosisForAny, diagnoseForAny } from '../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { Service } from '../../src/service/service.ts';

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
