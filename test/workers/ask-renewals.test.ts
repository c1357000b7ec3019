import { describe, expect, it } from 'vitest';
import type { RenewalInformation, Silence } from '../../src/certificates/authorities/authority.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { DueDomains } from '../../src/db/domains/sweeps.ts';
import type { RenewalPlan } from '../../src/db/issuance/renewals.ts';
import { type AskRenewalsDeps, askRenewals } from '../../workers/ask-renewals.ts';
import { aDomain, later, noon } from '../support/builders.ts';
import { aCertificate, orderWorld, type Situation } from './order-world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const live = aDomain({ state: { status: 'live', missedAt: null } });
const running = new AbortController().signal;

/** Valid for 90 days, a third of which are over; its place in a window is the start. */
const served = aCertificate({
  status: 'issued',
  chain: 'PEM',
  issuedAt: later(noon, -30 * DAY),
  expiresAt: later(noon, 60 * DAY),
});
const inDays = (from: number, to: number) => ({
  start: later(noon, from * DAY),
  end: later(noon, to * DAY),
});
const wants = (from: number, to: number): RenewalInformation => ({
  window: inDays(from, to),
  explanationUrl: 'https://ca.test/why',
  askAgainAt: later(noon, 6 * HOUR),
});
const away: Silence = { kind: 'silence', retryAfter: null, isAway: true };
const failed: Silence = { kind: 'silence', retryAfter: null, isAway: false };
/** As src/db/issuance/renewals.ts stores it. */
const stored = (from: number, to: number, more = {}) => {
  const { start, end } = inDays(from, to);
  return { window: { start: start.toISOString(), end: end.toISOString() }, ...more };
};

type Answer = RenewalInformation | Silence | null;
type Asked = Situation & {
  readonly answer?: Answer;
  readonly authorities?: readonly (string | null)[];
};

/** Queries for each certificate in turn; returns the CAs queried and the resulting plans. */
async function asked({ work, answer = null, authorities = [null] }: Asked) {
  const waiting = authorities.map((_, nth) => ({ id: String(nth), takes: 1 }));
  const due: DueDomains = {
    take: async ({ suspects }) => (suspects ? [] : waiting.splice(0)),
    settle: async () => {},
    giveBack: async () => {},
    noteReason: async () => {},
  };
  const questions: Certificate['authority'][] = [];
  const plans: RenewalPlan[] = [];
  const deps: AskRenewalsDeps = {
    ...orderWorld(live, {}).deps,
    due,
    async loadWork(id, now) {
      const usable = { ...served, authority: authorities[Number(id)] ?? null };
      const { certificates } = orderWorld(live, { work: { usable, ...work } }).deps;
      return certificates.loadWork(id, now);
    },
    async ask({ authority }) {
      questions.push(authority);
      return answer;
    },
    plan: async (_domain, _certificate, plan) => void plans.push(plan),
    onFault: (fault) => {
      throw fault;
    },
    atOnce: 1,
  };
  expect(await askRenewals(deps, running)).toEqual({ kind: 'done' });
  return { questions, plans };
}

describe('a CA queried for renewal information', () => {
  const known = {
    window: inDays(10, 12),
    explanationUrl: 'https://ca.test/why',
    silentSince: null,
  };
  const askAt = later(noon, 6 * HOUR);

  it('gives a window: the renewal is planned within it, and the next query after Retry-After', async () => {
    const { plans } = await asked({ answer: wants(10, 12) });
    expect(plans).toEqual([{ renewAt: later(noon, 10 * DAY), askAt, known }]);
  });

  it('gives a past window: the certificate is renewed now', async () => {
    const { plans } = await asked({ answer: wants(-2, -1) });
    expect(plans).toMatchObject([{ renewAt: noon, askAt }]);
  });

  it('delays a renewal to three quarters of the life at most', async () => {
    const { plans } = await asked({ answer: wants(50, 55) });
    expect(plans).toMatchObject([
      { renewAt: later(noon, 37.5 * DAY), known: { window: inDays(50, 55) } },
    ]);
  });

  it('does not affect the retries of a renewal that is due', async () => {
    const usable = { ...served, renewalInfo: stored(-2, -1) };
    const { plans } = await asked({ work: { usable }, answer: wants(-1, 0) });
    expect(plans).toMatchObject([{ renewAt: null, askAt, known: { window: inDays(-1, 0) } }]);
  });

  it('is queried again a day later without a window, and the previous window stays', async () => {
    const silentSince = later(noon, -HOUR).toISOString();
    const usable = { ...served, renewalInfo: stored(10, 12, { silentSince }) };
    const { plans } = await asked({ work: { usable }, answer: null });
    expect(plans).toEqual([
      { renewAt: null, askAt: later(noon, DAY), known: { ...known, explanationUrl: null } },
    ]);
  });

  it('is queried again an hour later after a failure, and the previous window stays', async () => {
    const usable = { ...served, renewalInfo: stored(10, 12) };
    const { plans } = await asked({ work: { usable }, answer: failed });
    expect(plans).toMatchObject([
      {
        renewAt: null,
        askAt: later(noon, HOUR),
        known: { window: inDays(10, 12), silentSince: noon },
      },
    ]);
  });

  it('is queried less often while it keeps failing', async () => {
    const silentSince = later(noon, -5 * HOUR);
    const usable = { ...served, renewalInfo: { silentSince: silentSince.toISOString() } };
    const { plans } = await asked({ work: { usable }, answer: failed });
    expect(plans).toMatchObject([
      { askAt: later(noon, 5 * HOUR), known: { window: null, silentSince } },
    ]);
  });

  it('gives a window again after failures', async () => {
    const silentSince = later(noon, -5 * HOUR).toISOString();
    const usable = { ...served, renewalInfo: stored(20, 22, { silentSince }) };
    const { plans } = await asked({ work: { usable }, answer: wants(10, 12) });
    expect(plans).toEqual([{ renewAt: later(noon, 10 * DAY), askAt, known }]);
  });

  it('is skipped for the rest of the run after a timeout, unlike others', async () => {
    const authorities = ['https://one.test', 'https://one.test', 'https://two.test'];
    const { questions, plans } = await asked({ answer: away, authorities });
    expect(questions).toEqual(['https://one.test', 'https://two.test']);
    expect(plans.map(({ askAt }) => askAt)).toEqual(Array(3).fill(later(noon, HOUR)));
  });

  it('is queried for its other certificates after a failure with one', async () => {
    const { questions } = await asked({ answer: failed, authorities: [null, null] });
    expect(questions).toHaveLength(2);
  });
});

describe('no CA is queried for', () => {
  it.each<[string, NonNullable<Situation['work']>]>([
    ['a drifted domain', { domain: aDomain({ state: { status: 'drifted', driftedAt: noon } }) }],
    ['an expired certificate', { usable: null }],
  ])('%s', async (_what, work) => {
    expect(await asked({ work, answer: wants(1, 2) })).toEqual({ questions: [], plans: [] });
  });
});
