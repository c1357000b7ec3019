import { describe, expect, it, test } from 'vitest';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import {
  type Summary,
  type SummaryInput,
  summaryLine,
  summaryOf,
} from '../../src/core/life/summary.ts';
import { later, noon } from '../support/builders.ts';

const soon = later(noon, 16_250);
const wanted = { hostname: 'docs.shop.test', target: 'x.edge.test' };
const missing: Finding = { code: 'record_missing', ...wanted, seen: 'nxdomain' };
const silent: Finding = {
  code: 'dns_unknown',
  hostname: wanted.hostname,
  servers: [{ server: 'ns1.shop.test', outcome: 'timeout' }],
};
const wildcard: Finding = { code: 'wildcard_answers', ...wanted, wildcard: '*.shop.test' };
const partial: Finding = { code: 'apex_partial', ...wanted, addresses: ['192.0.2.1'], missing: [] };
const disagree: Finding = { code: 'name_servers_disagree', ...wanted, right: [], others: [] };

const none = { expiresAt: null, nextAttemptAt: null, isRefused: false };
const pending: SummaryInput = {
  status: 'pending',
  findings: [missing],
  lastCheckedAt: noon,
  nextCheckAt: soon,
  verifiedAt: null,
  missedAt: null,
  certificate: none,
  hasEscalation: false,
};
const verified: SummaryInput = { ...pending, status: 'verified', findings: [], nextCheckAt: null };
const live: SummaryInput = { ...pending, status: 'live', findings: [], verifiedAt: noon };
const end = { ...none, expiresAt: new Date('2027-02-18T00:00:00Z') };
const again = { ...none, nextAttemptAt: soon, isRefused: true };

const absent = 'docs.shop.test does not exist in the DNS yet.';
const checked = { next: 'The next check is', nextAt: soon };

const rows: readonly (readonly [what: string, SummaryInput, Summary])[] = [
  [
    'was added a moment ago',
    { ...pending, findings: [], lastCheckedAt: null },
    {
      now: 'Added. Its DNS hasn’t been checked yet.',
      next: 'The first check is',
      nextAt: soon,
      actor: null,
    },
  ],
  [
    'is being checked for the first time',
    { ...pending, findings: [], lastCheckedAt: null, nextCheckAt: noon },
    {
      now: 'Added. Its DNS hasn’t been checked yet.',
      next: 'Checking now…',
      nextAt: null,
      actor: null,
    },
  ],
  ['lacks its record', pending, { now: absent, actor: 'customer', ...checked }],
  [
    'has a check in progress',
    { ...pending, nextCheckAt: noon },
    { now: absent, actor: 'customer', next: 'Checking now…', nextAt: null },
  ],
  [
    'has silent name servers, which need no repair yet',
    { ...pending, findings: [silent] },
    { now: expect.stringContaining('docs.shop.test'), actor: null, ...checked },
  ],
  [
    'is verified',
    verified,
    {
      now: 'The DNS is correct. The certificate is being issued, which takes a minute or two.',
      next: 'The certificate is being obtained.',
      nextAt: null,
      actor: null,
    },
  ],
  [
    'is verified after a refusal',
    { ...verified, certificate: again },
    {
      now: 'The DNS is correct, but the certificate authority has refused the certificate so far.',
      next: 'The next attempt is',
      nextAt: soon,
      actor: null,
    },
  ],
  [
    'is verified with an escalation',
    { ...verified, certificate: again, hasEscalation: true },
    {
      now: 'The DNS is correct, but no certificate was issued yet. An operator was notified.',
      next: 'The next attempt is',
      nextAt: soon,
      actor: 'platform',
    },
  ],
  [
    'is verified while its name servers disagree',
    { ...verified, findings: [disagree] },
    {
      now: expect.stringMatching(/^The certificate cannot be obtained yet\. /),
      next: 'The certificate is being obtained.',
      nextAt: null,
      actor: 'customer',
    },
  ],
  [
    'is live',
    live,
    {
      now: 'Live. No action needed: its certificate renews automatically.',
      actor: null,
      ...checked,
    },
  ],
  [
    'is live by a wildcard',
    { ...live, findings: [wildcard] },
    { now: expect.stringMatching(/^Live\. .*\*\.shop\.test/), actor: 'customer', ...checked },
  ],
  [
    'is live with an informational finding',
    { ...live, findings: [partial] },
    {
      now: 'Live. No action needed: its certificate renews automatically.',
      actor: null,
      ...checked,
    },
  ],
  [
    'is live after a refused renewal',
    { ...live, certificate: { ...end, isRefused: true } },
    {
      now: 'Live, but the certificate authority has refused the renewal so far. It is retried automatically.',
      actor: null,
      ...checked,
    },
  ],
  [
    'is live with an escalated renewal',
    { ...live, hasEscalation: true },
    {
      now: 'Live, but its certificate has not been renewed. An operator was notified.',
      actor: 'platform',
      ...checked,
    },
  ],
  [
    'is live after one missed check',
    { ...live, findings: [missing], missedAt: noon },
    {
      now: `Live, but the last check found a problem. ${absent}`,
      actor: 'customer',
      next: 'The second check is',
      nextAt: soon,
    },
  ],
  [
    'has drifted',
    { ...live, status: 'drifted', findings: [missing], certificate: end },
    {
      now: `No longer live. ${absent} Remaining traffic is served until 2027-02-18.`,
      actor: 'customer',
      ...checked,
    },
  ],
  [
    'has failed',
    { ...pending, status: 'failed' },
    {
      now: `Not live: the verification window ended before its DNS was correct. ${absent}`,
      actor: 'customer',
      ...checked,
    },
  ],
  [
    'has failed after it was live and is no longer checked',
    { ...pending, status: 'failed', verifiedAt: noon, nextCheckAt: null },
    {
      now: `No longer live: its certificate has expired. ${absent}`,
      next: 'It is no longer checked. Verify it again to restart.',
      nextAt: null,
      actor: 'customer',
    },
  ],
];

describe('the summary of a domain', () => {
  test.each(rows)('that %s', (_what, input, summary) => {
    expect(summaryOf(input, noon)).toEqual(summary);
  });

  it('is one line with an exact time', () => {
    expect(summaryLine(summaryOf(pending, noon))).toBe(
      `${absent} The next check is on 2026-11-20 at 12:00:16 UTC.`,
    );
    expect(summaryLine(summaryOf({ ...pending, nextCheckAt: noon }, noon))).toBe(
      `${absent} Checking now…`,
    );
  });
});
