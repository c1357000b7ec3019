import { describe, expect, it, onTestFinished } from 'vitest';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import { startAcmeFront } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { clientOf, createLedger, startAcmeFixture } from './support/acme-fixture.ts';

describe.skipIf(lacks('pebble', 'refused nonces and reused authorizations'))('An order', () => {
  const shares: readonly (readonly [nonceReject: number, authzReuse: number])[] = [
    [5, 0],
    [5, 100],
    [85, 0],
    [85, 100],
  ];
  it.each(rowsOfRun(shares, ([refused, reused]) => (refused === 5) === (reused === 100)))(
    'succeeds with %i percent of nonces refused and %i percent of authorizations reused',
    async (nonceReject, authzReuse) => {
      const fixture = await startAcmeFixture({ nonceReject, authzReuse });
      onTestFinished(fixture.close);
      const front = await startAcmeFront(fixture.pebble);
      onTestFinished(front.close);
      const ledger = createLedger(fixture, 'docs.acme.test');
      const challenges = () =>
        front.requests.filter(({ step, status }) => step === 'challenge' && status === 200).length;
      const next = () => clientOf(front, ledger).advance(ledger.order(), ledger.steps);

      expect((await next()).kind).toBe('issued');
      expect(challenges()).toBe(1);
      for (const orders of [2, 3]) {
        ledger.forgetOrder();
        expect((await next()).kind).toBe('issued');
        expect(front.placed()).toHaveLength(orders);
      }
      // With a share of 0, Pebble still reuses one now and then.
      if (authzReuse === 0) expect(challenges()).toBeGreaterThan(1);
      else expect(challenges()).toBe(1);
    },
  );

  /** Refuses this many requests for an order; each can use its nonce again. */
  async function orderRefused(times: number) {
    const fixture = await startAcmeFixture({ nonceReject: 0 });
    onTestFinished(fixture.close);
    const front = await startAcmeFront(fixture.pebble);
    onTestFinished(front.close);
    let left = times;
    front.meddle({
      before: ({ step, nonce }) => {
        if (step !== 'newOrder' || nonce === null || left-- <= 0) return undefined;
        const headers = { 'content-type': 'application/problem+json', 'replay-nonce': nonce };
        const type = 'urn:ietf:params:acme:error:badNonce';
        return { status: 400, headers, body: JSON.stringify({ type }) };
      },
    });
    const ledger = createLedger(fixture, 'docs.acme.test');
    const result = await clientOf(front, ledger)
      .advance(ledger.order(), ledger.steps)
      .catch((fault: unknown) => fault);
    return { front, result, tries: front.requests.filter(({ step }) => step === 'newOrder') };
  }

  it('succeeds when 99 nonces in a row are refused', async () => {
    const { front, result, tries } = await orderRefused(99);
    expect(result).toMatchObject({ kind: 'issued' });
    expect(tries).toHaveLength(100);
    expect(front.placed()).toHaveLength(1);
  });

  it('fails when 100 nonces in a row are refused', async () => {
    const { front, result, tries } = await orderRefused(100);
    expect(isCertificateFault(result) && result.code).toBe('ca_failed');
    expect(tries).toHaveLength(100);
    expect(front.placed()).toEqual([]);
  });
});
