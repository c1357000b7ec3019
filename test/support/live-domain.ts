/** A live domain under a fake clock, and obstacles to its certificate. */
import { expect } from 'vitest';
import type { OrderResult } from '../../src/certificates/authorities/authority.ts';
import type { Unavailable } from '../../workers/orders/obtain.ts';
import { certificateOf, type FakeTime, MINUTE, startLife } from './fake-time.ts';
import type { StoredDomains } from './stored-domains.ts';

/** The CA rejects the order. */
export const refuses = (): OrderResult => ({
  kind: 'refused',
  problem: { type: 'rejected_identifier', detail: 'not this name', retryAfter: null },
});

/** The CA does not respond. */
export const isAway = (): Unavailable => ({
  kind: 'unavailable',
  retryAfter: null,
  detail: 'ca_unreachable: no answer',
});

/** A domain that went live a moment after it was added, with a certificate of `days` days. */
export async function startLiveLife(stored: StoredDomains, days = 90): Promise<FakeTime> {
  const life = await startLife(stored);
  life.dns('right');
  life.authority(certificateOf(days));
  await life.pass(MINUTE);
  expect((await life.row()).status).toBe('live');
  return life;
}

/** Types of events since `since` (missing: all), oldest first. */
export async function typesOf(life: FakeTime, since?: Date): Promise<readonly string[]> {
  return (await life.story(since)).map(({ type }) => type);
}
