/** What a look takes back: which of the things that block also undo how far a domain has come. */
import { describe, expect, it } from 'vitest';
import { judgeCheck } from '../../src/core/check.ts';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import type { DomainState } from '../../src/core/lifecycle.ts';
import { later, noon } from '../support/builders.ts';

const about = { hostname: 'docs.shop.test', target: 'x.edge.test' };
const missing: Finding = { code: 'record_missing', ...about, seen: 'nxdomain' };
const disagree: Finding = {
  code: 'name_servers_disagree',
  ...about,
  right: ['ns1.shop.test'],
  others: [{ server: 'ns2.shop.test', shows: 'no record' }],
};
const bogus: Finding = {
  code: 'dnssec_bogus',
  hostname: about.hostname,
  zone: 'shop.test',
  errors: [{ code: 7, text: '' }],
};
const forbidden: Finding = {
  code: 'caa_blocks',
  hostname: about.hostname,
  foundAt: 'shop.test',
  records: ['0 issue "ca.example"'],
  toAdd: '0 issue "letsencrypt.org"',
};

const verified: DomainState = { status: 'verified', verifiedAt: noon };
/** A first miss was seen a quarter of an hour ago: one more makes it drifted. */
const live: DomainState = { status: 'live', missedAt: later(noon, -15 * 60_000) };

const rules = {
  now: noon,
  windowMs: 48 * 3_600_000,
  escalateAfterMs: 1_800_000,
  jitter: 0.5,
  eager: false,
};

const table: readonly (readonly [DomainState, readonly Finding[], string])[] = [
  [verified, [missing], 'pending'],
  [verified, [forbidden], 'pending'],
  [verified, [disagree], 'verified'],
  [verified, [bogus], 'verified'],
  [verified, [disagree, bogus], 'verified'],
  [verified, [disagree, forbidden], 'pending'],
  [live, [missing], 'drifted'],
  [live, [disagree], 'live'],
  [live, [bogus], 'live'],
  [live, [forbidden], 'live'],
  [live, [bogus, missing], 'drifted'],
];

describe('a look that is wrong', () => {
  it.each(
    table.map(([state, findings, to]) => ({
      state,
      findings,
      was: state.status,
      codes: findings.map(({ code }) => code).join(' and '),
      to,
    })),
  )('leaves a $was domain $to for $codes', ({ state, findings, to }) => {
    const outcome = judgeCheck({ state, findings: [] }, { verdict: 'wrong', findings }, rules);
    expect(outcome.to.status).toBe(to);
    expect(outcome.findings).toEqual(findings);
  });

  it('is looked at again within seconds where a server has the record already', () => {
    const state: DomainState = { status: 'pending', pendingSince: noon };
    const wait = (findings: Finding[]) =>
      Number(
        judgeCheck({ state, findings: [] }, { verdict: 'wrong', findings }, rules).nextCheckAt,
      ) - noon.getTime();
    expect([wait([disagree]), wait([missing])]).toEqual([5_000, 15_000]);
  });
});
