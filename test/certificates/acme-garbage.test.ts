import { createSecureContext } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import { privateKeyToPem } from '../../src/certificates/vault/keys.ts';
import type { AcmeFront, Meddling, Said } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { type AcmeFixture, clientOf, createLedger, type Ledger } from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';
import { meddleAt, type Point, points } from './support/interruptions.ts';

const change = (said: Partial<Said>): Meddling => ({
  after: (_request, was) => ({ ...was, ...said }),
});
const html = { 'content-type': 'text/html' };
const MIB = 1_048_576;

/** Nonces are for later requests; what is said without one has to be asked for again. */
const garbage: readonly (readonly [string, Meddling])[] = [
  ['a page', change({ status: 200, headers: html, body: '<!doctype html><p>Welcome' })],
  ['a page that says no', change({ status: 403, headers: html, body: '<p>Blocked' })],
  ['nothing', change({ status: 200, body: '' })],
  ['null', change({ status: 200, body: 'null' })],
  ['half of it', { after: (_request, was) => ({ ...was, body: was.body.slice(0, -40) }) }],
  ['more than a MiB', change({ status: 200, body: ' '.repeat(MIB + 1) })],
  ['the way elsewhere', change({ status: 302, headers: { location: 'https://elsewhere.test/' } })],
  ['that it has failed', change({ status: 500, headers: html, body: '<p>Oops' })],
];

/** The challenge's and finalize's own answers are not read: the order tells what came of them. */
const notRead = new Set(['challenge', 'finalize']);
const read = points.filter(([, step]) => !notRead.has(step));
/** Each kind with its steps: all of them, or in the quick run two, so that every step gets some of each sort. */
const rows = garbage.map(([what, meddling], nth) => {
  const steps = rowsOfRun(read, (point) => (read.indexOf(point) + 2 * nth) % read.length < 2);
  return [what, meddling, steps] as const;
});

describe.skipIf(lacks('pebble', 'an authority that answers with garbage'))(
  'An authority that answers with',
  () => {
    let fixture: AcmeFixture;
    let front: AcmeFront;
    startFrontForAll((started) => {
      ({ fixture, front } = started);
    });

    const attempt = (ledger: Ledger) =>
      clientOf(front, ledger)
        .advance(ledger.order(), ledger.steps)
        .then(
          (result) => (result.kind === 'issued' ? 'issued' : result.problem.type),
          (error: unknown) => (isCertificateFault(error) ? error.code : error),
        );

    it.each(rows)('%s is not believed, at whichever step', async (_what, meddling, steps) => {
      for (const point of steps) {
        front.forget();
        const ledger = createLedger(fixture, 'garbage.acme.test');
        const happened = meddleAt(front, point, meddling);
        const outcome = [point, await attempt(ledger)];
        expect(outcome).toEqual([
          point,
          expect.stringMatching(/^ca_(answer_unreadable|failed|unreachable)$/),
        ]);
        expect(happened()).toBe(true);
        expect([point, await attempt(ledger)]).toEqual([point, 'issued']);
        expect(front.placed()).toHaveLength(1);
      }
    });

    it.each(['', '<p>', 'http://localhost/order/1', 'https://'])(
      'an order at “%s” has none: nothing is stored',
      async (location) => {
        const ledger = createLedger(fixture, 'nowhere.acme.test');
        const placed: Point = ['', 'newOrder', 'newAccount'];
        const happened = meddleAt(front, placed, {
          after: (_request, was) => ({ ...was, headers: { ...was.headers, location } }),
        });
        const outcome = await attempt(ledger);
        expect(happened()).toBe(true);
        expect(outcome).toBe('ca_answer_unreadable');
        expect(ledger.urls.orders).toEqual([]);
      },
    );

    it('no nonce is asked for one', async () => {
      const ledger = createLedger(fixture, 'nonces.acme.test');
      front.meddle({
        after({ step }, was) {
          const { 'replay-nonce': _nonce, ...headers } = was.headers;
          return step === 'newNonce' ? was : { ...was, headers };
        },
      });
      expect(await attempt(ledger)).toBe('issued');
    });

    it('no nonce where it was asked for one is no authority', async () => {
      const ledger = createLedger(fixture, 'nonces.acme.test');
      front.meddle({ after: (_request, was) => ({ ...was, headers: {} }) });
      expect(await attempt(ledger)).toBe('ca_answer_unreadable');
    });

    it('another content type is understood all the same', async () => {
      const ledger = createLedger(fixture, 'types.acme.test');
      front.meddle({
        after: (_request, was) => ({ ...was, headers: { ...was.headers, ...html } }),
      });
      expect(await attempt(ledger)).toBe('issued');
    });

    it('a chain of which a later certificate is broken is asked again, because TLS could not serve it', async () => {
      const ledger = createLedger(fixture, 'chain.acme.test');
      const download: Point = ['', 'certificate', 'finalize'];
      meddleAt(front, download, {
        after: (_request, was) => ({ ...was, body: was.body.trimEnd().slice(0, -60) }),
      });
      expect(await attempt(ledger)).toBe('ca_answer_unreadable');
      const result = await clientOf(front, ledger).advance(ledger.order(), ledger.steps);
      if (result.kind !== 'issued') throw new Error(result.problem.type);
      const key = privateKeyToPem(ledger.order().privateKey);
      expect(() => createSecureContext({ cert: result.chain, key })).not.toThrow();
    });
  },
);
