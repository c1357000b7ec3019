import { describe, expect, it } from 'vitest';
import { certificateIdOf } from '../../src/certificates/acme/resources.ts';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import type { PlacedAs } from '../../src/core/certificates/budget.ts';
import type { AcmeFront, Said } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import {
  type AcmeFixture,
  type ClientOptions,
  clientOf,
  createLedger,
} from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';

const now = new Date('2026-11-21T12:00:00Z');
const json = { 'content-type': 'application/json', 'replay-nonce': 'used-up' };
const problem = (status: number, type: string): Said => ({
  status,
  headers: { ...json, 'content-type': 'application/problem+json' },
  body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no' }),
});

describe.skipIf(lacks('pebble', 'profiles and renewal information'))(
  'An authority with more than RFC 8555',
  () => {
    let fixture: AcmeFixture;
    let front: AcmeFront;
    startFrontForAll((started) => {
      ({ fixture, front } = started);
    });

    type Answers = {
      readonly [Step in 'newOrder' | 'renewalInfo']?: (payload: unknown) => Said | undefined;
    };
    /** Pebble knows nothing of it: the front adds it to the directory, and answers where it says so. */
    function offer(more: object, answers: Answers = {}): void {
      front.meddle({
        before: ({ step, payload }) =>
          step === 'newOrder' || step === 'renewalInfo' ? answers[step]?.(payload) : undefined,
        after: ({ step }, said) =>
          step === 'directory'
            ? { ...said, body: JSON.stringify({ ...JSON.parse(said.body), ...more }) }
            : undefined,
      });
    }
    const ordered = () =>
      front.requests.filter(({ step }) => step === 'newOrder').map(({ payload }) => payload);
    const docs = { identifiers: [{ type: 'dns', value: 'docs.acme.test' }] };

    /** What the last order was placed as, each time. */
    let placedAs: PlacedAs[] = [];
    async function order(options: ClientOptions, predecessor?: string) {
      const ledger = createLedger(fixture, 'docs.acme.test');
      placedAs = [];
      const beforePlacing = async (kind: PlacedAs) => void placedAs.push(kind);
      return clientOf(front, ledger, options)
        .advance({ ...ledger.order(), predecessor }, { ...ledger.steps, beforePlacing })
        .catch((error: unknown) => (isCertificateFault(error) ? error : Promise.reject(error)));
    }
    /** A certificate to ask about, the same one for all. */
    let before: Promise<string> | undefined;
    const issuedBefore = () => {
      before ??= issue();
      return before;
    };

    async function issue(options: ClientOptions = {}, predecessor?: string): Promise<string> {
      const result = await order(options, predecessor);
      if (!('kind' in result) || result.kind !== 'issued') throw new Error(JSON.stringify(result));
      return result.chain;
    }

    describe('offers profiles:', () => {
      const profiles = { classic: 'https://ca.test/classic', shortlived: 'https://ca.test/short' };

      it('the one that is configured is ordered', async () => {
        offer({ meta: { profiles } });
        await issue({ profile: 'shortlived' });
        expect(ordered()).toContainEqual({ ...docs, profile: 'shortlived' });
      });

      it('where none is configured, none is named', async () => {
        offer({ meta: { profiles } });
        await issue();
        expect(ordered()).toContainEqual(docs);
      });

      it.each([
        [{ meta: { profiles } }, 'offers classic, shortlived'],
        [{ meta: {} }, 'offers no profiles'],
      ])('another one is ordered nowhere, and those offered are named', async (more, words) => {
        offer(more);
        expect(await order({ profile: 'tlsserver' })).toMatchObject({
          code: 'ca_misconfigured',
          message: `ACME_PROFILE is tlsserver, but the certificate authority ${words}`,
        });
        expect(ordered()).toEqual([]);
      });

      it('one that it takes back is refused with its reason', async () => {
        offer({ meta: { profiles } }, { newOrder: () => problem(400, 'invalidProfile') });
        const refused = await order({ profile: 'classic' });
        expect(refused).toMatchObject({ kind: 'refused', problem: { type: 'invalid_profile' } });
      });
    });

    describe('tells when to renew:', () => {
      const start = '2026-12-01T00:00:00Z';
      const window = { start, end: '2026-12-03T00:00:00+01:00' };
      const informs = (body: object, headers: Record<string, string> = {}): Answers => ({
        renewalInfo: () => ({
          status: 200,
          headers: { ...json, ...headers },
          body: JSON.stringify(body),
        }),
      });
      const renewalInfo = () => `${front.base}/renewal-info`;
      const ask = (chain: string) =>
        clientOf(front, createLedger(fixture, 'docs.acme.test'), { clock: () => now })
          .renewalInfo(chain)
          .catch((error: unknown) => (isCertificateFault(error) ? error.code : error));

      it('its window is for this certificate, and holds until it says', async () => {
        const chain = await issuedBefore();
        front.forget();
        const explanationURL = 'https://ca.test/why';
        const body = { suggestedWindow: window, explanationURL };
        offer({ renewalInfo: renewalInfo() }, informs(body, { 'retry-after': '21600' }));
        expect(await ask(chain)).toEqual({
          window: { start: new Date(start), end: new Date('2026-12-02T23:00:00Z') },
          explanationUrl: explanationURL,
          askAgainAt: new Date('2026-11-21T18:00:00Z'),
        });
        const id = await certificateIdOf(chain);
        expect(front.requests.map(({ path }) => path)).toEqual(['/dir', `/renewal-info/${id}`]);
      });

      it('without that in its directory it has no opinion, and is not asked', async () => {
        const chain = await issuedBefore();
        front.forget();
        expect(await ask(chain)).toBeNull();
        expect(front.requests.map(({ step }) => step)).toEqual(['directory']);
      });

      it.each<[string, Said, string]>([
        [
          'a window that ends before it starts',
          {
            status: 200,
            headers: json,
            body: JSON.stringify({ suggestedWindow: { start: window.end, end: start } }),
          },
          'ca_answer_unreadable',
        ],
        ['no window', { status: 200, headers: json, body: '{}' }, 'ca_answer_unreadable'],
        ['a page', { status: 200, headers: json, body: '<p>' }, 'ca_answer_unreadable'],
        ['that it has failed', { status: 503, headers: {}, body: '' }, 'ca_failed'],
      ])('%s is no answer', async (_what, said, code) => {
        const chain = await issuedBefore();
        offer({ renewalInfo: renewalInfo() }, { renewalInfo: () => said });
        expect(await ask(chain)).toBe(code);
      });

      it('of a certificate that it does not know it has no opinion', async () => {
        const chain = await issuedBefore();
        const said = problem(404, 'malformed');
        offer({ renewalInfo: renewalInfo() }, { renewalInfo: () => said });
        expect(await ask(chain)).toBeNull();
      });

      it('hears which certificate an order is to replace', async () => {
        const chain = await issuedBefore();
        front.forget();
        offer({ renewalInfo: renewalInfo() });
        await issue({}, chain);
        expect(ordered()).toContainEqual({ ...docs, replaces: await certificateIdOf(chain) });
        expect(placedAs).toEqual(['opened']);
      });

      it('and does not, where it does not want to', async () => {
        const chain = await issuedBefore();
        front.forget();
        await issue({}, chain);
        expect(ordered()).toContainEqual(docs);
      });

      it.each([
        ['has been replaced already', problem(409, 'alreadyReplaced')],
        ['is none of its own', problem(404, 'malformed')],
      ])('where what is to be replaced %s, the order is an ordinary one', async (_what, said) => {
        const chain = await issuedBefore();
        front.forget();
        const newOrder = (payload: unknown) =>
          JSON.stringify(payload).includes('replaces') ? said : undefined;
        offer({ renewalInfo: renewalInfo() }, { newOrder });
        await issue({}, chain);
        expect(ordered()).toContainEqual(docs);
        expect(front.placed()).toHaveLength(1);
        // It counts as one, too.
        expect(placedAs).toEqual(['opened', 'plain']);
      });

      it('an order that replaces keeps to its limits', async () => {
        const chain = await issuedBefore();
        front.forget();
        offer({ renewalInfo: renewalInfo() }, { newOrder: () => problem(429, 'rateLimited') });
        expect(await order({}, chain)).toMatchObject({ problem: { type: 'rate_limited' } });
        expect(ordered()).toHaveLength(1);
      });
    });
  },
);
