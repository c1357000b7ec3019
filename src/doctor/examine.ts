/** One look at a host name and what it means, without storing anything: observe → diagnose. */
import type { CaaAuthority } from '../core/caa/caa-set.ts';
import { diagnoseForAny } from '../core/diagnosis/diagnose-for.ts';
import type { Diagnosis } from '../core/diagnosis/diagnosis.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../core/instructions.ts';
import type { Observation } from '../core/observation.ts';
import { splitAtZone } from '../core/zone.ts';
import type { Observer } from '../dns/observe.ts';

/** Both are names in the form of the DNS: A-labels, lower case, no trailing dot. */
export type Asked = { readonly hostname: string; readonly target: string };

export type Examined = Asked & {
  readonly observation: Observation;
  readonly diagnosis: Diagnosis;
  readonly record: DnsRecord;
};

/** Takes as long as a look, 7 s at most. Never rejects for what the network does. */
export type Examine = (asked: Asked) => Promise<Examined>;

export type ExamineDeps = {
  readonly observer: Pick<Observer, 'observe'>;
  /** The authorities that would issue, as CAA records name them, the first choice first. */
  readonly authorities: () => Promise<readonly CaaAuthority[]>;
  /** Whether private addresses are as good as others (laboratories). */
  readonly allowPrivate: boolean;
};

/** The same look and the same judgement that a check of an attached domain makes. */
export function createExamine({ observer, allowPrivate, ...deps }: ExamineDeps): Examine {
  return async ({ hostname, target }) => {
    const { apex } = splitAtZone(hostname);
    const observation = await observer.observe({ hostname, target, apex });
    const authorities = await deps.authorities();
    const expected = { hostname, target, authorities, allowPrivate };
    const diagnosis = diagnoseForAny(observation, expected);
    const zone = zoneBelow(observation);
    const record = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
    return { hostname, target, observation, diagnosis, record };
  };
}
