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

/** newNonce is excluded: its body is not read. */
const garbage: readonly (readonly [string, Meddling])[] = [
  ['an HTML page', change({ status: 200, headers: html, body: '<!doctype html><p>Welcome' })],
  ['an HTML page with status 403', change({ status: 403, headers: html, body: '<p>Blocked' })],
  ['nothing', change({ status: 200, body: '' })],
  ['null', change({ status: 200, body: 'null' })],
  ['half a body', { after: (_request, was) => ({ ...was, body: was.body.slice(0, -40) }) }],
  ['more than a MiB', change({ status: 200, body: ' '.repeat(MIB + 1) })],
  ['a redirect', change({ status: 302, headers: { location: 'https://elsewhere.test/' } })],
  ['a server error', change({ status: 500, headers: html, body: '<p>Oops' })],
];

/** The client ignores the bodies of these responses and reads the order instead. */
const notRead = new Set(['challenge', 'finalize']);
const read = points.filter(([, step]) => !notRead.has(step));
/** The quick run takes two steps per kind of garbage and still covers every step. */
const rows = garbage.map(([what, meddling], nth) => {
  const steps = rowsOfRun(read, (point) => (read.indexOf(point) + 2 * nth) % read.length < 2);
  return [what, meddling, steps] as const;
});

describe.skipIf(lacks('pebble', 'a CA that sends garbage'))('A CA', () => {
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

  it.each(rows)('that sends %s causes a fault, then resumes', async (_what, meddling, steps) => {
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
    'with “%s” as the order URL has no order stored',
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

  it('that sends no nonce with its responses still issues', async () => {
    const ledger = createLedger(fixture, 'nonces.acme.test');
    front.meddle({
      after({ step }, was) {
        const { 'replay-nonce': _nonce, ...headers } = was.headers;
        return step === 'newNonce' ? was : { ...was, headers };
      },
    });
    expect(await attempt(ledger)).toBe('issued');
  });

  it('whose newNonce response has no nonce causes a fault', async () => {
    const ledger = createLedger(fixture, 'nonces.acme.test');
    front.meddle({ after: (_request, was) => ({ ...was, headers: {} }) });
    expect(await attempt(ledger)).toBe('ca_answer_unreadable');
  });

  it('that sends another content type still issues', async () => {
    const ledger = createLedger(fixture, 'types.acme.test');
    front.meddle({
      after: (_request, was) => ({ ...was, headers: { ...was.headers, ...html } }),
    });
    expect(await attempt(ledger)).toBe('issued');
  });

  it('that sends a chain with a broken certificate is queried again', async () => {
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
});
