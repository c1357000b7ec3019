import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OrderSteps } from '../../src/certificates/authorities/authority.ts';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import { isForKey } from '../../src/certificates/x509.ts';
import { lacks } from '../support/programs.ts';
import {
  type AcmeFixture,
  clientOf,
  createLedger,
  type Ledger,
  ordersAt,
  startAcmeFixture,
} from './support/acme-fixture.ts';

describe.skipIf(lacks('pebble', 'certificates from an ACME CA'))('An ACME certificate', () => {
  let fixture: AcmeFixture;
  beforeAll(async () => {
    fixture = await startAcmeFixture();
  });
  afterAll(() => fixture.close());

  const advance = (ledger: Ledger, steps: OrderSteps = ledger.steps) =>
    clientOf(fixture.pebble, ledger).advance(ledger.order(), steps);

  it('is issued for the requested name and key', async () => {
    const ledger = createLedger(fixture, 'docs.acme.test');
    const result = await advance(ledger);
    if (result.kind !== 'issued') throw new Error(result.problem.detail);
    const leaf = new X509Certificate(result.chain);
    expect(leaf.subjectAltName).toBe('DNS:docs.acme.test');
    expect(isForKey(result.chain, ledger.order().privateKey)).toBe(true);
    expect(result.issuer).toMatch(/^Pebble Intermediate CA/);
    expect(result.notAfter.getTime()).toBeGreaterThan(Date.now());
    expect(result.chain.match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThan(1);
  });

  it('is ready within seconds, without a wait of more than five', async () => {
    const ledger = createLedger(fixture, 'quick.acme.test');
    let reads = 0;
    /** The attempt has five seconds left; a longer wait would end it. */
    const clock = () => new Date(reads++ === 0 ? 0 : 55_000);
    const client = clientOf(fixture.pebble, ledger, { clock });
    expect((await client.advance(ledger.order(), ledger.steps)).kind).toBe('issued');
  });

  it('names its account URI and reuses the account for the next order', async () => {
    const ledger = createLedger(fixture, 'one.acme.test');
    const client = clientOf(fixture.pebble, ledger);
    expect(await client.accountUri()).toBeNull();
    await client.advance(ledger.order(), ledger.steps);
    const uri = await client.accountUri();
    expect(uri).toMatch(/^https:\/\/localhost:\d+\/my-account\//);
    const again = clientOf(fixture.pebble, ledger);
    await again.advance({ ...ledger.order(), orderUrl: null }, ledger.steps);
    expect(ledger.urls.account).toBe(uri);
  });

  it('is issued to concurrent orders with one new account', async () => {
    const ledger = createLedger(fixture, 'many.acme.test');
    const client = clientOf(fixture.pebble, ledger);
    const orders = [1, 2, 3].map(() => client.advance(ledger.order(), ledger.steps));
    expect((await Promise.all(orders)).map(({ kind }) => kind)).toEqual(Array(3).fill('issued'));
    expect(await ordersAt(fixture.pebble, ledger)).toHaveLength(3);
  });

  /** Each point at which a process can crash, after its step was stored. */
  const crashes: readonly [string, (ledger: Ledger) => OrderSteps][] = [
    [
      'after the order was placed',
      ({ steps }) => ({
        ...steps,
        orderPlaced: async (url) => {
          await steps.orderPlaced(url);
          throw new Error('killed');
        },
      }),
    ],
    [
      'before the challenge was published',
      ({ steps }) => ({ ...steps, publishChallenge: () => Promise.reject(new Error('killed')) }),
    ],
    [
      'after the challenge was published',
      ({ steps }) => ({
        ...steps,
        publishChallenge: async (challenge) => {
          await steps.publishChallenge(challenge);
          throw new Error('killed');
        },
      }),
    ],
  ];

  it.each(crashes)('comes from the same order after a crash %s', async (_when, dying) => {
    const ledger = createLedger(fixture, 'crash.acme.test');
    await expect(advance(ledger, dying(ledger))).rejects.toThrow('killed');
    expect((await advance(ledger)).kind).toBe('issued');
    expect(ledger.urls.orders).toHaveLength(1);
    expect(await ordersAt(fixture.pebble, ledger)).toEqual(ledger.urls.orders);
  });

  it('times out after a minute; the open order then resumes', async () => {
    const ledger = createLedger(fixture, 'slow.acme.test');
    /** Each read of the clock passes a minute, so polling times out at once. */
    const impatient = () => {
      let minutes = 0;
      return clientOf(fixture.pebble, ledger, { clock: () => new Date(60_000 * minutes++) });
    };
    const ends: string[] = [];
    while (ends.at(-1) !== 'issued' && ends.length < 50) {
      const end = await impatient()
        .advance(ledger.order(), ledger.steps)
        .then(
          ({ kind }) => kind,
          (error: unknown) => (isCertificateFault(error) ? error.code : 'other'),
        );
      ends.push(end);
    }
    expect(new Set(ends)).toEqual(new Set(['order_still_open', 'issued']));
    expect(await ordersAt(fixture.pebble, ledger)).toEqual(ledger.urls.orders);
    expect(ledger.urls.orders).toHaveLength(1);
  });

  it('is downloaded again when the process crashed before it was stored', async () => {
    const ledger = createLedger(fixture, 'late.acme.test');
    const first = await advance(ledger);
    const second = await advance(ledger);
    expect(second).toEqual(first);
    expect(await ordersAt(fixture.pebble, ledger)).toHaveLength(1);
  });

  it('is refused, with the reason, when the challenge is not answered', async () => {
    const ledger = createLedger(fixture, 'elsewhere.acme.test');
    const result = await advance(ledger, { ...ledger.steps, publishChallenge: async () => {} });
    expect(result).toMatchObject({ kind: 'refused', problem: { type: 'unauthorized' } });
    if (result.kind === 'refused') expect(result.problem.detail).toMatch(/^[ -~]{1,500}$/);
    expect(await advance(ledger)).toMatchObject({ kind: 'refused' });
  });

  it('is refused for a name that no public CA issues for', async () => {
    const result = await advance(createLedger(fixture, 'bad_name.acme.test'));
    expect(result).toMatchObject({ kind: 'refused' });
  });

  it('is refused as lost when the CA has forgotten the order; a new order works', async () => {
    const ledger = createLedger(fixture, 'lost.acme.test');
    const crash = () => Promise.reject(new Error('killed'));
    await expect(advance(ledger, { ...ledger.steps, publishChallenge: crash })).rejects.toThrow();
    const lost = new URL(ledger.urls.orders[0] ?? '');
    lost.pathname += 'x';
    const client = clientOf(fixture.pebble, ledger);
    const order = { ...ledger.order(), orderUrl: lost.href };
    const result = await client.advance(order, ledger.steps);
    expect(result).toMatchObject({ kind: 'refused', problem: { type: 'order_lost' } });
    expect((await client.advance({ ...order, orderUrl: null }, ledger.steps)).kind).toBe('issued');
  });
});
