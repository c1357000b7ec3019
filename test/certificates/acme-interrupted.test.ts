import { afterEach, describe, expect, it } from 'vitest';
import { createTransport } from '../../src/certificates/acme/transport.ts';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import type { AcmeFront, Meddling } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { until } from '../support/world.ts';
import {
  type AcmeFixture,
  type ClientOptions,
  clientOf,
  createLedger,
  type Ledger,
  ordersAt,
  rootOf,
} from './support/acme-fixture.ts';
import { startFrontForAll } from './support/front-for-all.ts';
import { meddleAt, points } from './support/interruptions.ts';

const PATIENCE_MS = 3_000; // longer than a slow response takes

describe.skipIf(lacks('pebble', 'interrupted orders'))('An interrupted order', () => {
  let fixture: AcmeFixture;
  let front: AcmeFront;
  startFrontForAll((started) => {
    ({ fixture, front } = started);
  });

  afterEach(() => fixture.pebble.signal('SIGCONT')); // in case the test fails while it is stopped

  const attempt = (ledger: Ledger, options?: ClientOptions) =>
    clientOf(front, ledger, options)
      .advance(ledger.order(), ledger.steps)
      .then(
        (result) => (result.kind === 'issued' ? 'issued' : result.problem.type),
        (error: unknown) => (isCertificateFault(error) ? error.code : error),
      );

  const losses: readonly (readonly [string, Meddling])[] = [
    ['a lost request', { before: () => 'hang up' }],
    ['a lost response', { after: () => 'hang up' }],
    [
      'a gateway error',
      { before: () => ({ status: 502, headers: { 'content-type': 'text/html' }, body: '<p>' }) },
    ],
  ];
  /** The quick run takes every other point for each kind of loss and still covers all points. */
  const rows = losses.map(([what, meddling], nth) => {
    const met = rowsOfRun(points, (point) => (points.indexOf(point) + nth) % 2 === 0);
    return [what, meddling, met] as const;
  });
  it.each(rows)('resumes after %s at any step', async (_what, meddling, met) => {
    for (const [i, point] of met.entries()) {
      const ledger = createLedger(fixture, `lost${i}.acme.test`);
      front.forget();
      const happened = meddleAt(front, point, meddling);
      expect([point, await attempt(ledger)]).toEqual([
        point,
        expect.stringMatching(/^ca_(unreachable|failed)$/),
      ]);
      expect(happened()).toBe(true);
      expect([point, await attempt(ledger)]).toEqual([point, 'issued']);
      expect(front.placed()).toHaveLength(1);
      expect(await ordersAt(front, ledger)).toHaveLength(1);
    }
  });

  it.each(points)('resumes when the CA is stopped %s', async (...point) => {
    const ledger = createLedger(fixture, 'stopped.acme.test');
    const happened = meddleAt(front, point, {
      before: async () => void (await fixture.pebble.pause()),
    });
    expect(await attempt(ledger, { timeoutMs: PATIENCE_MS })).toBe('ca_unreachable');
    expect(happened()).toBe(true);
    fixture.pebble.signal('SIGCONT');
    expect(await attempt(ledger)).toBe('issued');
    expect(ledger.urls.orders).toHaveLength(1);
    expect(front.placed()).toHaveLength(1);
  });

  it.each(points)('is lost and replaced when the CA loses all its state %s', async (...point) => {
    const ledger = createLedger(fixture, 'died.acme.test');
    const happened = meddleAt(front, point, {
      before: () => {
        fixture.pebble.signal('SIGKILL');
        return 'hang up';
      },
    });
    expect(await attempt(ledger)).toBe('ca_unreachable');
    expect(happened()).toBe(true);
    await fixture.restart();
    front.leadTo(fixture.pebble);
    expect(await attempt(ledger)).toBe('order_lost');
    expect(front.placed()).toHaveLength(1); // no open order remains
    ledger.forgetOrder();
    expect(await attempt(ledger)).toBe('issued');
    expect(front.placed()).toHaveLength(2);
  });

  it('leaves an orphan when the newOrder response is lost, as the order URL is unknown', async () => {
    const ledger = createLedger(fixture, 'orphan.acme.test');
    meddleAt(front, ['', 'newOrder', 'newAccount'], { after: () => 'hang up' });
    expect(await attempt(ledger)).toBe('ca_unreachable');
    expect(await attempt(ledger)).toBe('issued');
    expect(await ordersAt(front, ledger)).toHaveLength(2);
  });

  const kept = points.filter(([, step]) => step !== 'challenge' && step !== 'finalize');
  it.each(kept)('is lost when the CA answers 404 %s', async (...point) => {
    const ledger = createLedger(fixture, 'part.acme.test');
    const happened = meddleAt(front, point, {
      before: () => ({ status: 404, headers: {}, body: '' }),
    });
    expect(await attempt(ledger)).toBe('order_lost');
    expect(happened()).toBe(true);
  });

  it.each(points)('gives a second process the same result %s', async (...point) => {
    const ledger = createLedger(fixture, 'twice.acme.test');
    const quicker: unknown[] = [];
    const happened = meddleAt(front, point, {
      async before() {
        quicker.push(await attempt(ledger));
        return undefined;
      },
    });
    expect(await attempt(ledger)).toBe('issued');
    expect(happened()).toBe(true);
    expect(quicker).toEqual(['issued']);
    expect(front.placed()).toHaveLength(1);
  });

  it('fails with a timeout while the CA is stopped', async () => {
    const ask = createTransport(rootOf(fixture.pebble), 100);
    fixture.pebble.signal('SIGSTOP');
    // Its threads stop one by one, so one may still answer.
    const fault = await until('a timeout', async () => {
      const url = fixture.pebble.directoryUrl;
      const reply = await ask({ method: 'GET', url }).catch((error: unknown) => error);
      return isCertificateFault(reply) ? reply : null;
    }).finally(() => fixture.pebble.signal('SIGCONT'));
    expect(fault.code).toBe('ca_unreachable');
  });
});
