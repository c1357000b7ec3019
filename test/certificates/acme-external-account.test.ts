import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ExternalAccount } from '../../src/certificates/acme/session.ts';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import type { AcmeFront } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { type AcmeFixture, clientOf, createLedger } from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';

const hmacKey = new Uint8Array(randomBytes(32));
const ours: ExternalAccount = { kid: 'kid-1', hmacKey };

describe.skipIf(lacks('pebble', 'external account binding'))(
  'A CA that requires external account binding',
  () => {
    let fixture: AcmeFixture;
    let front: AcmeFront;
    const key = Buffer.from(hmacKey).toString('base64url');
    startFrontForAll(
      (started) => {
        ({ fixture, front } = started);
      },
      { externalAccounts: { 'kid-1': key } },
    );

    async function attempt(externalAccount?: ExternalAccount) {
      const ledger = createLedger(fixture, 'docs.acme.test');
      const options = externalAccount === undefined ? {} : { externalAccount };
      return clientOf(front, ledger, options)
        .advance(ledger.order(), ledger.steps)
        .then(
          ({ kind }) => kind,
          (error: unknown) => (isCertificateFault(error) ? [error.code, error.message] : error),
        );
    }

    it('issues to an account bound to the configured external account', async () => {
      expect(await attempt(ours)).toBe('issued');
      const registered = front.requests.find(
        ({ step, status }) => step === 'newAccount' && status === 201,
      );
      const { externalAccountBinding: binding } = (registered?.payload ?? {}) as {
        externalAccountBinding: { protected: string; payload: string; signature: string };
      };
      const decoded = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
      const url = `${front.base}/sign-me-up`;
      expect(decoded(binding.protected)).toEqual({ alg: 'HS256', kid: 'kid-1', url }); // no nonce
      expect(Object.keys(decoded(binding.payload)).sort()).toEqual(['crv', 'kty', 'x', 'y']);
      const signed = createHmac('sha256', hmacKey).update(
        `${binding.protected}.${binding.payload}`,
      );
      expect(binding.signature).toBe(signed.digest('base64url'));
    });

    it('requires it in its directory: the missing setting is reported before newAccount', async () => {
      front.meddle({
        after: ({ step }, said) => {
          if (step !== 'directory') return undefined;
          const directory = JSON.parse(said.body);
          const meta = { ...directory.meta, externalAccountRequired: true };
          return { ...said, body: JSON.stringify({ ...directory, meta }) };
        },
      });
      expect(await attempt()).toEqual([
        'ca_misconfigured',
        expect.stringContaining('set ACME_EAB_KID and ACME_EAB_HMAC_KEY'),
      ]);
      expect(front.requests.map(({ step }) => step)).toEqual(['directory', 'newNonce']);
    });

    it('requires it only in its newAccount response: the missing setting is still reported', async () => {
      front.meddle({
        after: ({ step }, said) => {
          if (step !== 'directory') return undefined;
          return { ...said, body: JSON.stringify({ ...JSON.parse(said.body), meta: undefined }) };
        },
      });
      expect(await attempt()).toEqual([
        'ca_misconfigured',
        expect.stringContaining('set ACME_EAB_KID and ACME_EAB_HMAC_KEY'),
      ]);
      expect(front.requests.some(({ step }) => step === 'newAccount')).toBe(true);
    });

    it.each<[string, ExternalAccount]>([
      ['key identifier', { ...ours, kid: 'somebody-else' }],
      ['HMAC key', { ...ours, hmacKey: new Uint8Array(32) }],
    ])('rejects a wrong %s, which is a configuration error', async (_what, wrong) => {
      expect(await attempt(wrong)).toEqual([
        'ca_misconfigured',
        expect.stringContaining('check ACME_CONTACT, ACME_EAB_KID and ACME_EAB_HMAC_KEY'),
      ]);
      expect(front.requests.some(({ step }) => step === 'newOrder')).toBe(false);
    });
  },
);
