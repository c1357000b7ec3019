import { describe, expect, it, onTestFinished } from 'vitest';
import { startAcmeFront } from '../support/acme-front.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { clientOf, createLedger, startAcmeFixture } from './support/acme-fixture.ts';

describe.skipIf(lacks('pebble', 'nonces that are refused, authorizations that are reused'))(
  'The whole order',
  () => {
    const shares: readonly (readonly [nonceReject: number, authzReuse: number])[] = [
      [5, 0],
      [5, 100],
      [90, 0],
      [90, 100],
    ];
    // The quick run has each share once.
    it.each(rowsOfRun(shares, ([refused, reused]) => (refused === 5) === (reused === 100)))(
      'comes to its end with %i of 100 nonces refused and %i of 100 authorizations used again',
      async (nonceReject, authzReuse) => {
        const fixture = await startAcmeFixture({ nonceReject, authzReuse });
        onTestFinished(fixture.close);
        const front = await startAcmeFront(fixture.pebble);
        onTestFinished(front.close);
        const ledger = createLedger(fixture, 'docs.acme.test');
        const challenges = () =>
          front.requests.filter(({ step, status }) => step === 'challenge' && status === 200)
            .length;
        const next = () => clientOf(front, ledger).advance(ledger.order(), ledger.steps);

        expect((await next()).kind).toBe('issued');
        expect(challenges()).toBe(1);
        for (const orders of [2, 3]) {
          ledger.forgetOrder();
          expect((await next()).kind).toBe('issued');
          expect(front.placed()).toHaveLength(orders);
        }
        // Pebble draws, and told to use none again it still does now and then.
        if (authzReuse === 0) expect(challenges()).toBeGreaterThan(1);
        else expect(challenges()).toBe(1);
      },
    );
  },
);
