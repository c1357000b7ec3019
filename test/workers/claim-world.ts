/** A right check of a name whose records can lead here for another project. */
import { expect } from 'vitest';
import { createProofs } from '../../src/certificates/vault/derived-secrets.ts';
import type { DnsAnswer, Observation } from '../../src/core/diagnosis/observation.ts';
import { proofNameOf } from '../../src/core/names/proof.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { saveCheck } from '../../workers/checks/save-check.ts';
import { anObservation, right } from '../support/builders.ts';
import { namesOf, plainService } from '../support/plain-service.ts';
import type { StoredDomains } from '../support/stored-domains.ts';

export const proofFor = createProofs(new Uint8Array(32));

export type Two = { readonly claimant: LoadedDomain; readonly holder: LoadedDomain };

/**
 * `proxied`: a subdomain whose CNAME is hidden by a proxy that passes challenges on; `wildcard`: by
 * that of a wildcard; `unseen`: no server said whether there is a wildcard.
 */
export type Place = 'apex' | 'sub' | 'proxied' | 'wildcard' | 'unseen';

const passing = [{ address: '104.16.0.1', result: 'edge', status: 200 }] as const;
export const observedAt: { readonly [P in Place]: Partial<Observation> } = {
  apex: {},
  sub: {},
  proxied: { proxy: passing, nearby: beside({ kind: 'nxdomain' }) },
  wildcard: {
    proxy: passing,
    nearby: beside({ kind: 'records', records: ['104.16.0.1'], ttlSeconds: 60 }),
  },
  unseen: { proxy: passing },
};

/** A random sibling without an alias. */
function beside(a: DnsAnswer<string>): Observation['nearby'] {
  const cname: DnsAnswer<string> = a.kind === 'records' ? { kind: 'nodata' } : a;
  return { ...anObservation().nearby, sibling: { cname, a } };
}

/** The TXT records that `answers` makes of the two values are at the queried name. */
export function checkRight(
  stored: StoredDomains,
  { claimant, holder }: Two,
  txt: Txt,
  more: Partial<Observation> = {},
) {
  const values = [claimant, holder].map(({ id, hostname }) => proofFor(id, hostname));
  const followed: string[] = [];
  const service = plainService({
    checks: createCheckStore(stored.database),
    proofFor,
    observer: {
      lookupTexts: async (name) => {
        expect(name).toBe(proofNameOf(claimant.hostname));
        return [answers[txt](values[0] ?? '', values[1] ?? '')];
      },
    },
    queues: {
      enqueue: async (queue, wanted) => void followed.push(...namesOf(queue, wanted)),
      remove: async () => undefined,
    },
  });
  const observed = { kind: 'observed', observation: { ...anObservation(), ...more } } as const;
  const saved = saveCheck(service, { domain: claimant, observed }, right);
  return saved.then((outcome) => ({ outcome, followed }));
}

const txtRecords = (first: string, ...rest: readonly string[]): DnsAnswer<string> => ({
  kind: 'records',
  records: [first, ...rest],
  ttlSeconds: 60,
});

export const answers = {
  none: () => ({ kind: 'nxdomain' }),
  claimant: (mine) => txtRecords(mine),
  holder: (_mine, theirs) => txtRecords(theirs),
  both: (mine, theirs) => txtRecords(mine, theirs),
  garbage: () => txtRecords('v=spf1 -all'),
  unknown: () => ({ kind: 'timeout' }),
} as const satisfies Readonly<Record<string, (mine: string, theirs: string) => DnsAnswer<string>>>;
export type Txt = keyof typeof answers;
