/** One full check of a hostname against real servers, with its diagnosis. */
import type { CaaAuthority } from '../../../src/core/diagnosis/caa/caa-set.ts';
import { type Diagnosis, diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../../src/core/diagnosis/observation.ts';
import { recordFor } from '../../../src/core/names/instructions.ts';
import { createObserver } from '../../../src/dns/observe/observe.ts';
import { comparedWith } from '../test-lab.ts';
import type { RealWorld } from './world.ts';

export const TARGET = 'p1.edge.test';

export const authority: CaaAuthority = {
  issuerDomains: ['letsencrypt.org'],
  accountUri: null,
  method: 'http-01',
};

export type Checked = Diagnosis & { readonly observation: Observation };

export type Check = (hostname: string, previous?: Observation) => Promise<Checked>;

/** Uses the world's resolver and its name servers; later checks share the cache. */
export function checkIn({ wire, resolver }: RealWorld): Check {
  const observer = createObserver({
    wire,
    platformAddresses: [],
    config: {
      servers: [resolver],
      authoritative: true,
      authorityPort: resolver.port,
      allowPrivate: true,
    },
  });
  return async (hostname, previous) => {
    const apex = recordFor({ hostname, target: TARGET }).type === 'ALIAS';
    const checked = { hostname, target: TARGET, apex };
    const observation = previous
      ? (await observer.observeAgain(checked, comparedWith(previous))).observation
      : await observer.observe(checked);
    const expected = { hostname, target: TARGET, ca: authority, allowPrivate: true };
    return { ...diagnose(observation, expected), observation };
  };
}
