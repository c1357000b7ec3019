import { describe, expect, it } from 'vitest';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import type { AcmeFront, AcmeStep, Said } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { type AcmeFixture, clientOf, createLedger, type Ledger } from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';
import { meddleAt, points } from './support/interruptions.ts';

/** A fixed clock makes Retry-After deterministic. */
const noon = new Date('2026-11-21T12:00:00Z');
const inAnHour = '2026-11-21T13:00:00.000Z';
const asked = [
  ['seconds', '3600'],
  ['an HTTP date', 'Sat, 21 Nov 2026 13:00:00 GMT'],
] as const;

function tooMany(retryAfter: string): Said {
  const type = 'urn:ietf:params:acme:error:rateLimited';
  const headers = { 'content-type': 'application/problem+json', 'retry-after': retryAfter };
  return { status: 429, headers, body: JSON.stringify({ type, detail: 'slow down' }) };
}

describe.skipIf(lacks('pebble', 'a slow CA'))('A CA', () => {
  let fixture: AcmeFixture;
  let front: AcmeFront;
  startFrontForAll((started) => {
    ({ fixture, front } = started);
  });

  /** The outcome, and when to retry. */
  async function attempt(ledger: Ledger, clock: () => Date = () => noon) {
    try {
      const result = await clientOf(front, ledger, { clock }).advance(ledger.order(), ledger.steps);
      if (result.kind === 'issued') return ['issued'];
      return [result.problem.type, result.problem.retryAfter?.toISOString()];
    } catch (fault) {
      return isCertificateFault(fault) ? [fault.code, fault.retryAfter?.toISOString()] : fault;
    }
  }

  /** Before the order exists, a rate limit is a refusal for newAccount and newOrder. */
  const early: readonly (readonly [AcmeStep, string])[] = [
    ['directory', 'ca_failed'],
    ['newNonce', 'ca_failed'],
    ['newAccount', 'rate_limited'],
    ['newOrder', 'rate_limited'],
  ];
  describe.each(asked)('that sends Retry-After as %s', (form, retryAfter) => {
    /** In the quick run the steps alternate between the two forms. */
    const isInThisForm = (nth: number) => (nth % 2 === 0) === (form === 'seconds');

    it.each(rowsOfRun(early, (row) => isInThisForm(early.indexOf(row))))(
      'at %s receives no request until then',
      async (step, outcome) => {
        const ledger = createLedger(fixture, 'early.acme.test');
        front.meddle({
          before: (request) => (request.step === step ? tooMany(retryAfter) : undefined),
        });
        expect(await attempt(ledger)).toEqual([outcome, inAnHour]);
        expect(ledger.urls.orders).toEqual([]);
        front.meddle({});
        expect(await attempt(ledger)).toEqual(['issued']);
        expect(front.placed()).toHaveLength(1);
      },
    );

    it.each(rowsOfRun(points, (point) => isInThisForm(points.indexOf(point))))(
      '%s keeps the order open, which then resumes',
      async (...point) => {
        const ledger = createLedger(fixture, 'late.acme.test');
        const happened = meddleAt(front, point, { before: () => tooMany(retryAfter) });
        expect(await attempt(ledger)).toEqual(['order_still_open', inAnHour]);
        expect(happened()).toBe(true);
        expect(await attempt(ledger)).toEqual(['issued']);
        expect(front.placed()).toHaveLength(1);
      },
    );
  });

  it('whose order stays in processing is polled again, and no step is repeated', async () => {
    const ledger = createLedger(fixture, 'stuck.acme.test');
    /** Each read of the clock passes a minute, so polling times out at once. */
    const impatient = () => {
      let minutes = 0;
      return () => new Date(noon.getTime() + 60_000 * minutes++);
    };
    const stuck = (body: string): Said => ({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'replay-nonce': 'used-up',
        'retry-after': '7',
      },
      body: JSON.stringify({ ...JSON.parse(body), status: 'processing', certificate: undefined }),
    });
    const finalized = () =>
      front.requests.filter(({ step, status }) => step === 'finalize' && status === 200);
    front.meddle({
      after: ({ step }, { status, body }) =>
        step === 'order' && status === 200 && finalized().length > 0 ? stuck(body) : undefined,
    });
    const ends: unknown[] = [];
    while (finalized().length === 0) ends.push(await attempt(ledger, impatient()));
    for (let again = 0; again < 3; again++) ends.push(await attempt(ledger, impatient()));
    expect(new Set(ends.map((end) => Array.isArray(end) && end[0]))).toEqual(
      new Set(['order_still_open']),
    );
    front.meddle({});
    expect(await attempt(ledger)).toEqual(['issued']);
    expect(front.placed()).toHaveLength(1);
    expect(finalized()).toHaveLength(1);
  });
});
