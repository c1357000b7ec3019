/** Which blocking findings set a domain back. */

import { describe, expect, it } from 'vitest';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import type { ProxyPassage } from '../../src/core/diagnosis/proxies.ts';
import { decideCheck } from '../../src/core/life/check.ts';
import type { DomainState, Verdict } from '../../src/core/life/lifecycle.ts';
import { DAY, HOUR } from '../../src/core/time.ts';
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
const proxied = (passage: ProxyPassage): Finding => ({
  code: 'proxied',
  ...about,
  by: 'Cloudflare',
  addresses: ['104.16.0.1'],
  passage,
});

const verified: DomainState = { status: 'verified', verifiedAt: noon };
/** First missed a quarter of an hour ago: the next miss means drift. */
const live: DomainState = { status: 'live', missedAt: later(noon, -15 * 60_000) };

const unwatched = { findings: [], certificateEndsAt: null, escalateAt: null, watchedUntil: null };

const rules = {
  now: noon,
  windowMs: 48 * 3_600_000,
  timeScale: 1,
  escalateAfterMs: 1_800_000,
  jitter: 0.5,
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
  [verified, [proxied('elsewhere')], 'pending'],
  [verified, [proxied('no_certificate')], 'verified'],
  [live, [proxied('elsewhere')], 'drifted'],
  [live, [proxied('redirect')], 'drifted'],
  [live, [proxied('no_certificate')], 'live'],
  [live, [proxied('firewall')], 'live'],
];

const caaSilent: Finding = {
  code: 'caa_unknown',
  hostname: about.hostname,
  name: 'shop.test',
  outcome: 'timeout',
};
const silent: Finding = { code: 'dns_unknown', hostname: about.hostname, servers: [] };
const wellLive: DomainState = { status: 'live', missedAt: null };
const missedNow: DomainState = { status: 'live', missedAt: noon };
const drifted: DomainState = { status: 'drifted', driftedAt: later(noon, -HOUR) };
const failed: DomainState = { status: 'failed', failedAt: later(noon, -DAY) };

type Row = readonly [
  was: string,
  state: DomainState,
  found: string,
  verdict: Verdict,
  findings: readonly Finding[],
  to: DomainState,
  recorded: readonly string[],
];
const toDrifted: DomainState = { status: 'drifted', driftedAt: noon };
const toVerified: DomainState = { status: 'verified', verifiedAt: noon };

/** How a batch check changes domains without an order in progress. */
const settled: readonly Row[] = [
  ['live', wellLive, 'right', 'right', [], wellLive, []],
  ['live', wellLive, 'wrong', 'wrong', [missing], missedNow, []],
  ['live', wellLive, 'silent', 'unknown', [silent], wellLive, []],
  ['live', wellLive, 'forbidden by CAA', 'wrong', [forbidden], wellLive, []],
  ['live', wellLive, 'silent about CAA', 'unknown', [caaSilent], wellLive, []],
  ['missed', live, 'right', 'right', [], wellLive, []],
  ['missed', live, 'wrong', 'wrong', [missing], toDrifted, ['domain.drifted']],
  ['missed', live, 'silent', 'unknown', [silent], live, []],
  ['missed', live, 'right but for CAA', 'wrong', [forbidden], wellLive, []],
  ['missed', live, 'right but for silence about CAA', 'unknown', [caaSilent], wellLive, []],
  ['missed', live, 'silent, CAA forbids', 'wrong', [forbidden, silent], live, []],
  ['missed', live, 'of two minds', 'wrong', [disagree], live, []],
  ['drifted', drifted, 'wrong', 'wrong', [missing], drifted, []],
  ['drifted', drifted, 'silent', 'unknown', [silent], drifted, []],
  ['drifted', drifted, 'of two minds', 'wrong', [disagree], drifted, []],
  ['drifted', drifted, 'right', 'right', [], wellLive, ['domain.recovered']],
  ['drifted', drifted, 'right but for CAA', 'wrong', [forbidden], wellLive, ['domain.recovered']],
  ['failed', failed, 'wrong', 'wrong', [missing], failed, []],
  ['failed', failed, 'silent', 'unknown', [silent], failed, []],
  ['failed', failed, 'right but for CAA', 'wrong', [forbidden], failed, []],
  ['failed', failed, 'right', 'right', [], toVerified, ['domain.verified']],
];

describe('A check that our own resolvers could not answer', () => {
  const theirs: Finding = {
    code: 'dns_unknown',
    hostname: about.hostname,
    servers: [{ server: 'ns1.shop.test', outcome: 'timeout' }],
  };
  const throttled: Finding = {
    ...theirs,
    servers: [{ server: 'ns1.shop.test', outcome: 'not_asked' }],
  };
  const pending: DomainState = { status: 'pending', pendingSince: later(noon, -6 * HOUR) };
  const states = [pending, wellLive, drifted, failed];
  const secondsUntilNext = (state: DomainState, finding: Finding) => {
    const result = { verdict: 'unknown', findings: [finding] } as const;
    const change = decideCheck({ ...unwatched, state }, result, rules);
    const next = change.nextCheckAt ?? change.recheckAt;
    return next === null ? null : (next.getTime() - noon.getTime()) / 1_000;
  };

  it.each(states)('is repeated after 40 s: $status', (state) => {
    expect(secondsUntilNext(state, silent)).toBe(40);
    expect(secondsUntilNext(state, theirs)).toBeGreaterThanOrEqual(180);
    expect(secondsUntilNext(state, throttled)).toBeGreaterThanOrEqual(180);
  });
});

describe('a check of a settled domain', () => {
  const rows = settled.map(([was, state, found, verdict, findings, to, recorded]) => ({
    was,
    state,
    found,
    verdict,
    findings,
    to,
    recorded,
  }));
  it.each(rows)('that is $was and found $found', ({ state, verdict, findings, to, recorded }) => {
    const outcome = decideCheck({ ...unwatched, state }, { verdict, findings }, rules);
    expect(outcome.to).toEqual(to);
    const moved = outcome.events.filter(({ type }) => type !== 'domain.findings_changed');
    expect(moved.map(({ type }) => type)).toEqual(recorded);
    // Findings are stored and reported when new, whatever the state.
    expect(outcome.findings).toEqual(findings);
    expect(outcome.events.length - moved.length).toBe(findings.length > 0 ? 1 : 0);
    const again = decideCheck({ ...unwatched, state, findings }, { verdict, findings }, rules);
    expect(again.events).toHaveLength(recorded.length);
  });

  it('reports the findings with the drift', () => {
    const result = { verdict: 'wrong', findings: [missing] } as const;
    const { events } = decideCheck(
      { ...unwatched, state: live, findings: [missing] },
      result,
      rules,
    );
    expect(events).toEqual([{ type: 'domain.drifted', findings: [missing] }]);
  });
});

describe('an expired certificate', () => {
  const ends = (
    state: DomainState,
    certificateEndsAt: Date,
    verdict: Verdict = 'right',
    findings: readonly Finding[] = [],
  ) => decideCheck({ ...unwatched, state, certificateEndsAt }, { verdict, findings }, rules);

  it('sends a live domain back to verified, with its name kept and an order at once', () => {
    expect(ends(wellLive, noon)).toMatchObject({
      to: { status: 'verified', verifiedAt: noon },
      events: [{ type: 'certificate.ended', expiresAt: noon }],
      nextCheckAt: noon,
      recheckAt: null,
      escalateAt: later(noon, rules.escalateAfterMs),
    });
  });

  it('leaves what the same check found wrong to the check before the order', () => {
    const endedAt = later(noon, -1_000);
    expect(ends(wellLive, endedAt, 'wrong', [missing])).toMatchObject({
      to: { status: 'verified', verifiedAt: noon },
      findings: [missing],
      events: [
        { type: 'domain.findings_changed' },
        { type: 'certificate.ended', expiresAt: endedAt },
      ],
    });
  });

  it('sends a drifted but repaired domain to verified', () => {
    const { to, events } = ends(drifted, noon);
    expect(to).toEqual({ status: 'verified', verifiedAt: noon });
    expect(events.map(({ type }) => type)).toEqual(['domain.recovered', 'certificate.ended']);
  });

  it('fails a drifted domain, which is then checked daily', () => {
    expect(ends(drifted, noon, 'wrong', [missing])).toMatchObject({
      to: { status: 'failed', failedAt: noon },
      events: [
        { type: 'domain.findings_changed' },
        { type: 'domain.failed', reason: 'certificate_ended', findings: [missing] },
      ],
      nextCheckAt: null,
      recheckAt: later(noon, DAY),
    });
  });

  it('fires both events when the check that confirms a drift comes after it', () => {
    const { to, events } = ends(live, noon, 'wrong', [missing]);
    expect(to).toEqual({ status: 'failed', failedAt: noon });
    const recorded = events.map(({ type }) => type);
    expect(recorded).toEqual(['domain.findings_changed', 'domain.drifted', 'domain.failed']);
  });

  it.each([
    ['live', wellLive, 'right', []],
    ['drifted', drifted, 'wrong', [missing]],
  ] as const)(
    'sets the time of the next check of a %s domain',
    (_was, state, verdict, findings) => {
      const soon = later(noon, 1_000);
      expect(ends(state, soon, verdict, findings).recheckAt).toEqual(soon);
      const wait =
        Number(ends(state, later(noon, DAY), verdict, findings).recheckAt) - Number(noon);
      expect(wait).toBeLessThan(HOUR);
      expect(wait).toBeGreaterThan(1_000);
    },
  );

  it.each([
    ['pending', { status: 'pending', pendingSince: noon }],
    ['failed', failed],
  ] as const)('from before does not affect a %s domain', (_was, state) => {
    expect(ends(state, later(noon, -DAY), 'wrong', [missing]).to).toEqual(state);
  });
});

describe('a check that is wrong', () => {
  it.each(
    table.map(([state, findings, to]) => ({
      state,
      findings,
      was: state.status,
      codes: findings.map(({ code }) => code).join(' and '),
      to,
    })),
  )('leaves a $was domain $to for $codes', ({ state, findings, to }) => {
    const outcome = decideCheck({ ...unwatched, state }, { verdict: 'wrong', findings }, rules);
    expect(outcome.to.status).toBe(to);
    expect(outcome.findings).toEqual(findings);
  });

  it('repeats within seconds when one server has the record already', () => {
    expect([wait(noon, [disagree]), wait(noon, [missing])]).toEqual([5_000, 15_000]);
  });

  it('repeats less often when the other servers do not follow, unless watched', () => {
    const aDayAgo = later(noon, -DAY);
    expect(wait(aDayAgo, [disagree])).toBe(300_000);
    expect(wait(aDayAgo, [disagree], later(noon, 1_000))).toBe(5_000);
  });

  function wait(pendingSince: Date, findings: Finding[], watchedUntil: Date | null = null) {
    const domain = {
      ...unwatched,
      watchedUntil,
      state: { status: 'pending', pendingSince },
    } as const;
    const { nextCheckAt } = decideCheck(domain, { verdict: 'wrong', findings }, rules);
    return Number(nextCheckAt) - noon.getTime();
  }
});
