import { describe, expect, it } from 'vitest';
import type { AcmeFront } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { type AcmeFixture, clientOf, createLedger } from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';

describe.skipIf(lacks('pebble', 'a changed contact'))('A changed ACME_CONTACT', () => {
  let fixture: AcmeFixture;
  let front: AcmeFront;
  // A refused nonce would send the contact twice.
  startFrontForAll(
    (started) => {
      ({ fixture, front } = started);
    },
    { nonceReject: 0 },
  );

  /** Returns the contact updates that two orders of one process send. */
  async function issueTwice(ledger: ReturnType<typeof createLedger>, contact: string | null) {
    const client = clientOf(front, { ...ledger, account: { ...ledger.account, contact } });
    for (let nth = 0; nth < 2; nth += 1) {
      expect(await client.advance(ledger.order(), ledger.steps)).toMatchObject({
        kind: 'issued',
      });
      ledger.forgetOrder();
    }
    const accounts = front.requests.filter(({ step }) => step === 'account');
    front.forget();
    return accounts.map(({ payload }) => payload);
  }

  it('is sent to the CA with the next request and then stored', async () => {
    const ledger = createLedger(fixture, 'docs.acme.test');
    expect(await issueTwice(ledger, 'ops@signpost.test')).toEqual([]);
    expect(await issueTwice(ledger, 'ops@signpost.test')).toEqual([]);
    const changed = [{ contact: ['mailto:night@signpost.test'] }];
    expect(await issueTwice(ledger, 'night@signpost.test')).toEqual(changed);
    expect(ledger.stored.contact).toBe('night@signpost.test');
    expect(await issueTwice(ledger, 'night@signpost.test')).toEqual([]);
    expect(await issueTwice(ledger, null)).toEqual([{ contact: [] }]);
  });

  it('is sent once and does not delay the order when the CA rejects it', async () => {
    const ledger = createLedger(fixture, 'docs.acme.test');
    await issueTwice(ledger, 'ops@signpost.test');
    const body = JSON.stringify({
      type: 'urn:ietf:params:acme:error:invalidContact',
      detail: 'no',
    });
    const headers = { 'content-type': 'application/problem+json' };
    front.meddle({
      before: ({ step }) => (step === 'account' ? { status: 400, headers, body } : undefined),
    });
    expect(await issueTwice(ledger, 'night@signpost.test')).toHaveLength(1);
    expect(ledger.stored.contact).toBe('ops@signpost.test');
  });
});
