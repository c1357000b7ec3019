import { describe, expect, it } from 'vitest';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import { countOrders } from '../../src/service/service.ts';
import { countedCheckOf, type SavedCheck } from '../../workers/checks/save-check.ts';
import { aChange, aDomain, later, noon } from '../support/builders.ts';

const stayed = aChange();
const verified = {
  ...stayed,
  kind: 'moved',
  to: { status: 'verified', verifiedAt: noon },
} as const;
const pending = (sinceMs: number, lastMs: number | null) =>
  aDomain({
    state: { status: 'pending', pendingSince: later(noon, sinceMs) },
    lastCheckedAt: lastMs === null ? null : later(noon, lastMs),
  });
const check = (parts: Partial<SavedCheck>): SavedCheck => ({
  domain: pending(-60_000, null),
  change: stayed,
  at: noon,
  verdict: 'wrong',
  ...parts,
});

describe('The metrics of a saved check', () => {
  it('count it by its verdict', () => {
    expect(countedCheckOf(check({}))).toEqual({
      verdict: 'wrong',
      isOurTrouble: false,
      appeared: [],
      unseenSeconds: null,
    });
  });

  it('separate a failure of our own resolvers from one of a name server', () => {
    const unknown = (server: string, outcome: 'timeout' | 'not_asked' = 'timeout') =>
      countedCheckOf(
        check({
          verdict: 'unknown',
          change: {
            ...stayed,
            findings: [
              {
                code: 'dns_unknown',
                hostname: 'docs.shop.test',
                servers: [{ server, outcome }],
              },
            ],
          },
        }),
      ).isOurTrouble;
    expect([unknown('192.0.2.53'), unknown('ns1.shop.test')]).toEqual([true, false]);
    // Our own limit on queries to it.
    expect(unknown('ns1.shop.test', 'not_asked')).toBe(false);
  });

  it.each(['right', 'unknown', 'unchanged'] as const)('count it as %s', (verdict) => {
    expect(countedCheckOf(check({ verdict })).verdict).toBe(verdict);
  });

  const lags = [
    ['the previous check', -60_000, -15_000, 15],
    ['the start of the wait without a previous check', -60_000, null, 60],
    ['the start of this life if the previous check is older', -5_000, -90_000, 5],
  ] as const;
  it.each(lags)('measure the time to verification from %s', (_, since, last, seconds) => {
    const counted = countedCheckOf(
      check({ domain: pending(since, last), change: verified, verdict: 'right' }),
    );
    expect(counted.unseenSeconds).toBe(seconds);
  });
});

describe('The metrics of an order', () => {
  it('count a shared order as failed once', async () => {
    let refusals = 0;
    const answers = [
      { hasEnded: true, isPlanned: false },
      { hasEnded: false, isPlanned: true },
    ];
    // Other methods are not called here.
    const store = { refuse: async () => answers.shift() } as unknown as CertificateStore;
    const counted = countOrders(store, {
      issued: () => {},
      refused: () => {
        refusals += 1;
      },
      setBack: () => {},
    });
    const refusal = { problem: { type: 'caa', detail: 'no' }, nextAttemptAt: noon };
    for (let run = 0; run < 2; run += 1) await counted.refuse(aDomain(), 'order', refusal, noon);
    expect(refusals).toBe(1);
  });
});
