import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type {
  AddressShown,
  ServedCheck,
  ShownOutcome,
} from '../../src/core/certificates/served.ts';
import {
  type BrowserState,
  browserWarning,
  CHECK_COUNTS_MS,
  REMEMBERED_MS,
  type Visited,
} from '../../src/core/certificates/served.ts';
import { docsDomain } from '../../src/http/schemas/examples.ts';
import { later, noon } from '../support/builders.ts';

const certificate = {
  storedAt: later(noon, -REMEMBERED_MS),
  hasEnded: false,
  isTrusted: true,
};
const live: Visited = { status: 'live', missedAt: null, findings: [], certificate, shown: null };
const without: Visited = { ...live, certificate: null };
const ended: Visited = { ...live, certificate: { ...certificate, hasEnded: true } };
const fresh: Visited = {
  ...live,
  certificate: { ...certificate, storedAt: later(noon, 1 - REMEMBERED_MS) },
};
const local: Visited = { ...fresh, certificate: { ...certificate, isTrusted: false } };

/** A check a minute ago of the addresses 192.0.2.1, 192.0.2.2, … */
function seen(...found: readonly (ShownOutcome | Partial<AddressShown>)[]): { shown: ServedCheck } {
  const addresses = found.map((one, place): AddressShown => {
    const given = typeof one === 'string' ? { outcome: one } : one;
    return { address: `192.0.2.${place + 1}`, outcome: 'other', issuer: null, names: [], ...given };
  });
  return { shown: { checkedAt: later(noon, -60_000), addresses } };
}
const old = { issuer: 'Old CA', names: ['old.test', 'www.old.test'] };

type Row = readonly [what: string, Visited, BrowserState, RegExp];
const rows: readonly Row[] = [
  ['waits for DNS', { ...without, status: 'pending' }, 'no_certificate_yet', /as soon as the DNS/],
  ['has failed', { ...without, status: 'failed' }, 'no_certificate_yet', /as soon as the DNS/],
  [
    'waits for its certificate',
    { ...without, status: 'verified' },
    'no_certificate_yet',
    /being issued/,
  ],
  ['has an expired certificate', ended, 'no_certificate_yet', /has expired, and the next/],
  ['is verified again', { ...ended, status: 'verified' }, 'no_certificate_yet', /has expired, and/],
  [
    'is verified again while its DNS is wrong',
    { ...ended, status: 'failed' },
    'no_certificate_yet',
    /as soon as the DNS/,
  ],
  ['is served', live, 'served', /got a different certificate/],
  [
    'is behind a proxy',
    { ...live, findings: ['proxied'], ...seen(old) },
    'served',
    /A proxy in front of the domain shows its own certificate/,
  ],
  [
    'is verified and has the previous certificate',
    { ...live, status: 'verified' },
    'served',
    /got a different/,
  ],
  ['is served with the local CA', local, 'served', /they do not trust.* the platform’s operator/],
  ['has a certificate issued in the last hour', fresh, 'may_be_cached', /private window/],
  [
    'has an old answer cached by resolvers',
    { ...live, findings: ['old_answer_cached'] },
    'may_be_cached',
    /old server/,
  ],
  [
    'has a lagging name server',
    { ...live, findings: ['name_servers_disagree', 'mail_at_name'] },
    'may_be_cached',
    /old server/,
  ],
  [
    'has other findings',
    { ...live, findings: ['caa_blocks', 'dns_unknown'] },
    'served',
    /got a different/,
  ],
  ['missed one check', { ...fresh, missedAt: noon }, 'not_reaching_us', /no longer pointed here/],
  ['has drifted', { ...live, status: 'drifted' }, 'not_reaching_us', /no longer pointed here/],
  [
    'has drifted and its certificate has expired',
    { ...ended, status: 'drifted' },
    'not_reaching_us',
    /no longer pointed here/,
  ],
  ['has lost its name', { ...live, status: 'pending' }, 'not_reaching_us', /not served here/],
  [
    'failed with an expired certificate',
    { ...live, status: 'failed' },
    'not_reaching_us',
    /not served here/,
  ],
  [
    'serves it at all addresses',
    { ...live, ...seen('ours', 'ours') },
    'served',
    /every .* got a different/,
  ],
  [
    'has served it at all addresses for minutes',
    { ...fresh, ...seen('ours') },
    'served',
    /every .* private/,
  ],
  [
    'serves it at every reachable address',
    { ...fresh, ...seen('no_route', 'ours') },
    'served',
    /every address/,
  ],
  ['is unreachable', { ...fresh, ...seen('no_route', 'reserved') }, 'may_be_cached', /last hour/],
  ['has no address', { ...live, ...seen() }, 'served', /^The certificate is served\. If a browser/],
  ['is local and served', { ...local, ...seen('ours') }, 'served', /they do not trust/],
  [
    'is served while an old answer is cached',
    { ...live, findings: ['old_answer_cached'], ...seen('ours') },
    'may_be_cached',
    /old server/,
  ],
  [
    'serves another certificate at one address',
    { ...fresh, ...seen('ours', old, 'timeout') },
    'other_certificate',
    /192\.0\.2\.2 served a certificate of “Old CA” for old\.test and 1 more instead\. .*If not, /,
  ],
  [
    'serves other certificates at many addresses',
    { ...local, ...seen({}, {}, {}, {}) },
    'other_certificate',
    /but 192\.0\.2\.1 served a certificate; .*3 served a certificate and 1 more instead/,
  ],
  [
    'is not served at some addresses',
    { ...live, ...seen('ours', 'refused', 'timeout', 'no_certificate') },
    'not_shown',
    /2 refused the connection; .*3 did not answer in time; .*4 ended the handshake .* No action needed/,
  ],
  [
    'serves the previous certificate at one address',
    { ...fresh, ...seen('ours', 'ours_before') },
    'may_be_cached',
    /but 192\.0\.2\.2 still served the previous one\. No action needed/,
  ],
];

/** The check of the addresses is no evidence about these. */
const unjudged: readonly (readonly [string, Visited, BrowserState])[] = [
  [
    'whose certificate is newer',
    { ...fresh, ...seen('other'), certificate: { ...certificate, storedAt: noon } },
    'may_be_cached',
  ],
  [
    'that waits for its certificate',
    { ...without, ...seen('other'), status: 'verified' },
    'no_certificate_yet',
  ],
  ['that is verified again', { ...live, ...seen('other'), status: 'verified' }, 'served'],
  ['that has drifted', { ...live, ...seen('ours'), status: 'drifted' }, 'not_reaching_us'],
  [
    'without a check for hours',
    {
      ...live,
      certificate: { ...certificate, storedAt: later(noon, -2 * CHECK_COUNTS_MS) },
      shown: { ...seen('timeout').shown, checkedAt: later(noon, -CHECK_COUNTS_MS - 1) },
    },
    'served',
  ],
  ['whose certificate has expired', { ...ended, ...seen('ours') }, 'no_certificate_yet'],
];

describe('the browser warning of a domain that', () => {
  it.each(rows)('%s', (_what, visited, state, words) => {
    const { summary, shown, ...rest } = browserWarning(visited, noon);
    expect(rest).toEqual({ state });
    expect(summary).toMatch(words);
    expect(shown).toBe(visited.shown);
  });

  it.each(unjudged)('ignores an old check of a domain %s', (_what, visited, state) => {
    expect(browserWarning(visited, noon)).toMatchObject({ state, shown: null });
  });
});

describe('the API documentation', () => {
  it('lists exactly the browser states', () => {
    const api = readFileSync(new URL('../../docs/integrate/domains.md', import.meta.url), 'utf8');
    const [, text = ''] = api.split('### When a browser warns');
    const [table = ''] = text.split('\n### ');
    const listed = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, state]) => state);
    expect(listed.sort()).toEqual(['state', ...new Set(rows.map(([, , state]) => state))].sort());
  });

  it('shows a domain with the real texts', () => {
    expect(docsDomain.certificate.browser).toEqual(
      browserWarning({ ...without, status: 'pending' }, noon),
    );
  });
});
