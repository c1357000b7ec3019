/** A domain that is live under a clock of the test's own, and what may keep a certificate from it. */
import { expect } from 'vitest';
import type { OrderResult } from '../../src/certificates/authorities/authority.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { Unavailable } from '../../workers/issue-certificate.ts';
import { right } from './builders.ts';
import { certificateOf, type FakeTime, MINUTE, startLife } from './fake-time.ts';
import type { StoredDomains } from './stored-domains.ts';

/** What looks find where CAA records name another authority. */
export const forbidden: Diagnosis = {
  verdict: 'wrong',
  addresses: 'here',
  provider: null,
  findings: [
    {
      code: 'caa_blocks',
      hostname: 'docs.shop.test',
      foundAt: 'shop.test',
      records: ['0 issue "ca.example"'],
      toAdd: '0 issue "letsencrypt.org"',
    },
  ],
};

/** What an order comes to where the authority says no. */
export const refuses = (): OrderResult => ({
  kind: 'refused',
  problem: { type: 'rejected_identifier', detail: 'not this name', retryAfter: null },
});

/** What an order comes to where the authority does not answer. */
export const isAway = (): Unavailable => ({
  kind: 'unavailable',
  retryAfter: null,
  detail: 'ca_unreachable: no answer',
});

/** A domain that has gone live a moment after it was added, with a certificate of so many days. */
export async function startLiveLife(stored: StoredDomains, days = 90): Promise<FakeTime> {
  const life = await startLife(stored);
  life.dns(right);
  life.authority(certificateOf(days));
  await life.pass(MINUTE);
  expect((await life.row()).status).toBe('live');
  return life;
}

/** The types of what was told since `since` (missing: all), oldest first. */
export async function typesOf(life: FakeTime, since?: Date): Promise<readonly string[]> {
  return (await life.story(since)).map(({ type }) => type);
}
