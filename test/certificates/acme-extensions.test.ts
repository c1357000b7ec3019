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
  'An ACME CA with extensions to RFC 8555',
  () => {
    let fixture: AcmeFixture;
    let front: AcmeFront;
    startFrontForAll((started) => {
      ({ fixture, front } = started);
    });

    type Answers = {
      readonly [Step in 'newOrder' | 'renewalInfo']?: (payload: unknown) => Said | undefined;
    };
    /** Pebble lacks these extensions: the front adds them to the directory and answers for them. */
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

    /** The kinds of orders that the last attempt tried to place. */
    let placedAs: PlacedAs[] = [];
    async function order(options: ClientOptions, predecessor?: string) {
      const ledger = createLedger(fixture, 'docs.acme.test');
      placedAs = [];
      const beforePlacing = async (kind: PlacedAs) => void placedAs.push(kind);
      return clientOf(front, ledger, options)
        .advance({ ...ledger.order(), predecessor }, { ...ledger.steps, beforePlacing })
        .catch((error: unknown) => (isCertificateFault(error) ? error : Promise.reject(error)));
    }
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

    describe('with profiles', () => {
      const profiles = { classic: 'https://ca.test/classic', shortlived: 'https://ca.test/short' };

      it('receives the configured profile in the order', async () => {
        offer({ meta: { profiles } });
        await issue({ profile: 'shortlived' });
        expect(ordered()).toContainEqual({ ...docs, profile: 'shortlived' });
      });

      it('receives no profile when none is configured', async () => {
        offer({ meta: { profiles } });
        await issue();
        expect(ordered()).toContainEqual(docs);
      });

      it.each([
        [{ meta: { profiles } }, 'offers classic, shortlived'],
        [{ meta: {} }, 'offers no profiles'],
      ])(
        'receives no order for an unknown profile; the error lists the offered ones',
        async (more, words) => {
          offer(more);
          expect(await order({ profile: 'tlsserver' })).toMatchObject({
            code: 'ca_misconfigured',
            message: `ACME_PROFILE is tlsserver, but the certificate authority ${words}`,
          });
          expect(ordered()).toEqual([]);
        },
      );

      it('that rejects an offered profile refuses the order with its reason', async () => {
        offer({ meta: { profiles } }, { newOrder: () => problem(400, 'invalidProfile') });
        const refused = await order({ profile: 'classic' });
        expect(refused).toMatchObject({ kind: 'refused', problem: { type: 'invalid_profile' } });
      });
    });

    describe('with renewal information (ARI)', () => {
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

      it('gives a renewal window for the certificate, valid until Retry-After', async () => {
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

      it('is not queried when its directory has no renewalInfo', async () => {
        const chain = await issuedBefore();
        front.forget();
        expect(await ask(chain)).toBeNull();
        expect(front.requests.map(({ step }) => step)).toEqual(['directory']);
      });

      it.each<[string, Said, string]>([
        [
          'an inverted window',
          {
            status: 200,
            headers: json,
            body: JSON.stringify({ suggestedWindow: { start: window.end, end: start } }),
          },
          'ca_answer_unreadable',
        ],
        ['no window', { status: 200, headers: json, body: '{}' }, 'ca_answer_unreadable'],
        ['an HTML page', { status: 200, headers: json, body: '<p>' }, 'ca_answer_unreadable'],
        ['a server error', { status: 503, headers: {}, body: '' }, 'ca_failed'],
      ])('that answers with %s causes a fault', async (_what, said, code) => {
        const chain = await issuedBefore();
        offer({ renewalInfo: renewalInfo() }, { renewalInfo: () => said });
        expect(await ask(chain)).toBe(code);
      });

      it('gives no window for an unknown certificate', async () => {
        const chain = await issuedBefore();
        const said = problem(404, 'malformed');
        offer({ renewalInfo: renewalInfo() }, { renewalInfo: () => said });
        expect(await ask(chain)).toBeNull();
      });

      it('receives the ID of the certificate that an order replaces', async () => {
        const chain = await issuedBefore();
        front.forget();
        offer({ renewalInfo: renewalInfo() });
        await issue({}, chain);
        expect(ordered()).toContainEqual({ ...docs, replaces: await certificateIdOf(chain) });
        expect(placedAs).toEqual(['opened']);
      });

      it('receives no certificate ID when it does not support replaces', async () => {
        const chain = await issuedBefore();
        front.forget();
        await issue({}, chain);
        expect(ordered()).toContainEqual(docs);
      });

      it.each([
        ['was replaced already', problem(409, 'alreadyReplaced')],
        ['is unknown to the CA', problem(404, 'malformed')],
      ])('receives a plain order when the certificate to replace %s', async (_what, said) => {
        const chain = await issuedBefore();
        front.forget();
        const newOrder = (payload: unknown) =>
          JSON.stringify(payload).includes('replaces') ? said : undefined;
        offer({ renewalInfo: renewalInfo() }, { newOrder });
        await issue({}, chain);
        expect(ordered()).toContainEqual(docs);
        expect(front.placed()).toHaveLength(1);
        // The retry counts against the order limit.
        expect(placedAs).toEqual(['opened', 'plain']);
      });

      it('receives no second order when the replacing one is rate-limited', async () => {
        const chain = await issuedBefore();
        front.forget();
        offer({ renewalInfo: renewalInfo() }, { newOrder: () => problem(429, 'rateLimited') });
        expect(await order({}, chain)).toMatchObject({ problem: { type: 'rate_limited' } });
        expect(ordered()).toHaveLength(1);
      });
    });
  },
);
