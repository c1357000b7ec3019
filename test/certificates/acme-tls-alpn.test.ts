import { describe, expect, it } from 'vitest';
import type { Challenge, OrderSteps } from '../../src/certificates/authorities/authority.ts';
import type { AcmeFront } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { type AcmeFixture, clientOf, createLedger } from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';

const challenge = 'tls-alpn-01';

describe.skipIf(lacks('pebble', 'the tls-alpn-01 challenge'))(
  'A certificate by tls-alpn-01',
  () => {
    let fixture: AcmeFixture;
    let front: AcmeFront;
    startFrontForAll((started) => {
      ({ fixture, front } = started);
    });

    /** `published` runs between the client and the edge. */
    async function order(hostname: string, published = (one: Challenge): Challenge | null => one) {
      const ledger = createLedger(fixture, hostname);
      const types: string[] = [];
      const steps: OrderSteps = {
        ...ledger.steps,
        async publishChallenge(one) {
          types.push(one.type);
          const shown = published(one);
          if (shown !== null) await ledger.steps.publishChallenge(shown);
        },
      };
      const client = clientOf(front, ledger, { challenge });
      return { result: await client.advance(ledger.order(), steps), types };
    }

    it('is issued for a name without a certificate', async () => {
      const { result, types } = await order('docs.alpn.test');
      expect(result).toMatchObject({ kind: 'issued' });
      expect(types).toEqual([challenge]);
    });

    it('is issued for a served name without disturbing its visitors', async () => {
      await fixture.edge.publish('live.alpn.test', 'http://127.0.0.1:9');
      expect((await order('live.alpn.test')).result).toMatchObject({ kind: 'issued' });
      expect((await fixture.edge.https({ hostname: 'live.alpn.test' })).status).toBe(502);
    });

    it('is refused when the edge presents another proof', async () => {
      const other = (one: Challenge) => ({ ...one, keyAuthorization: `${one.keyAuthorization}x` });
      const { result } = await order('wrong.alpn.test', other);
      expect(result).toMatchObject({ kind: 'refused', problem: { type: 'unauthorized' } });
    });

    it('is refused when the edge presents no proof', async () => {
      const { result } = await order('none.alpn.test', () => null);
      expect(result).toMatchObject({ kind: 'refused', problem: { type: 'unauthorized' } });
    });

    it('is refused with the list of offered challenges when tls-alpn-01 is not among them', async () => {
      front.meddle({
        after: ({ step }, said) => {
          if (step !== 'authorization' || said.status !== 200) return undefined; // a nonce may be refused
          const shown = JSON.parse(said.body) as { challenges: { type: string }[] }; // RFC 8555, 7.1.4
          const challenges = shown.challenges.filter(({ type }) => type !== challenge);
          return { ...said, body: JSON.stringify({ ...shown, challenges }) };
        },
      });
      const { result, types } = await order('other.alpn.test');
      front.meddle({});
      if (result.kind !== 'refused') throw new Error('issued');
      expect(result.problem.type).toBe('challenge_not_offered');
      expect(result.problem.detail).toMatch(
        /^The authority offers no tls-alpn-01 challenge for this name\. It offers: (dns-01, http-01|http-01, dns-01)\.$/,
      );
      expect(types).toEqual([]);
    });
  },
);
