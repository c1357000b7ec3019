/** ACME_CONTACT that has changed is told to the authority, once, and keeps no order back (RFC 8555, 7.3.2). */
import { describe, expect, it } from 'vitest';
import type { AcmeFront } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { type AcmeFixture, clientOf, createLedger } from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';

describe.skipIf(lacks('pebble', 'a contact that changes'))(
  'A mail address that has changed',
  () => {
    let fixture: AcmeFixture;
    let front: AcmeFront;
    // A refused nonce would have the address told twice.
    startFrontForAll(
      (started) => {
        ({ fixture, front } = started);
      },
      { nonceReject: 0 },
    );

    /** Two orders of one process, whose account is told about this contact. */
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

    it('is told with the first request after it, and kept', async () => {
      const ledger = createLedger(fixture, 'docs.acme.test');
      expect(await issueTwice(ledger, 'ops@signpost.test')).toEqual([]);
      expect(await issueTwice(ledger, 'ops@signpost.test')).toEqual([]);
      const changed = [{ contact: ['mailto:night@signpost.test'] }];
      expect(await issueTwice(ledger, 'night@signpost.test')).toEqual(changed);
      expect(ledger.stored.contact).toBe('night@signpost.test');
      expect(await issueTwice(ledger, 'night@signpost.test')).toEqual([]);
      expect(await issueTwice(ledger, null)).toEqual([{ contact: [] }]);
    });

    it('keeps no order back where the authority does not want it: it is told once', async () => {
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
  },
);
