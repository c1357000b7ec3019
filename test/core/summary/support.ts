import type { DnsChange } from '../../../src/core/diagnosis/changes/change.ts';
import type { Finding, FindingOf } from '../../../src/core/diagnosis/findings.ts';
import type { SummaryInput } from '../../../src/core/life/summary/summary-types.ts';
import { later, noon } from '../../support/builders.ts';

export const soon = later(noon, 16_250);
const wanted = { hostname: 'docs.shop.test', target: 'x.edge.test' };
export const missing: Finding = { code: 'record_missing', ...wanted, seen: 'nxdomain' };
export const absent = 'docs.shop.test does not exist in the DNS yet.';

export const add: DnsChange = {
  verb: 'add',
  type: 'CNAME',
  name: 'docs',
  value: 'x.edge.test',
  ttl: 3600,
  state: 'to_do',
  servers: [
    { name: 'ns1', state: 'to_do', shows: 'no record' },
    { name: 'ns2', state: 'to_do', shows: 'no record' },
  ],
};
export const remove: DnsChange = { ...add, verb: 'delete', type: 'A', value: '151.101.1.7' };

/** At the first of two name servers. */
export function halfway(change: DnsChange): DnsChange {
  const [first, ...rest] = change.servers;
  const servers = first === undefined ? [] : [{ ...first, state: 'done' as const }, ...rest];
  return { ...change, state: 'spreading', servers };
}

export const none = { expiresAt: null, hasExpired: false, nextAttemptAt: null, problem: null };
export const valid = { ...none, expiresAt: new Date('2027-02-18T00:00:00Z') };
export const refused: SummaryInput['certificate'] = {
  ...none,
  nextAttemptAt: soon,
  problem: { summary: 'The CA refused it.', action: 'Wait.', actor: 'platform' },
};

export const pending: SummaryInput = {
  hostname: wanted.hostname,
  status: 'pending',
  findings: [missing],
  changes: [add],
  provider: { name: 'GoDaddy' },
  lastCheckedAt: noon,
  nextCheckAt: soon,
  verifiedAt: null,
  missedAt: null,
  windowMs: 172_800_000,
  certificate: none,
  hasEscalation: false,
  deploy: 'unknown',
};
export const verified: SummaryInput = {
  ...pending,
  status: 'verified',
  findings: [],
  changes: [{ ...add, verb: 'keep', state: 'done' }],
  nextCheckAt: null,
  verifiedAt: noon,
};
export const live: SummaryInput = {
  ...verified,
  status: 'live',
  nextCheckAt: soon,
  certificate: valid,
};
export const drifted: SummaryInput = { ...live, status: 'drifted', findings: [missing] };
export const failed: SummaryInput = { ...pending, status: 'failed' };

const { hostname } = wanted;
export const silent: Finding = {
  code: 'dns_unknown',
  hostname,
  servers: [{ server: 'ns1.shop.test', outcome: 'servfail' }],
};
export const lost: Finding = {
  ...silent,
  zone: 'shop.test',
  servers: [{ server: 'ns1.shop.test', outcome: 'refused' }],
};
export const ourTarget: Finding = { code: 'dns_unknown', hostname: wanted.target, servers: [] };
export const disagree: Finding = {
  code: 'name_servers_disagree',
  ...wanted,
  right: ['ns1.shop.test'],
  others: [{ server: 'ns2.shop.test', shows: 'no record' }],
};
export const twoProviders: Finding = {
  ...disagree,
  right: ['ns1.one.example'],
  others: [{ server: 'ns1.other.test', shows: 'no record' }],
};
export const caa: Finding = {
  code: 'caa_blocks',
  hostname,
  foundAt: 'shop.test',
  records: ['0 issue "ca.example"'],
  toAdd: '0 issue "letsencrypt.org"',
};
export const ourCaa: Finding = { ...caa, ours: true };
export const caaUnknown: Finding = {
  code: 'caa_unknown',
  hostname,
  name: 'shop.test',
  outcome: 'servfail',
};
export const caaWarns: Finding = {
  code: 'caa_warns',
  hostname,
  foundAt: 'shop.test',
  records: [],
  reasons: ['misspelt'],
};
export const unregistered: Finding = {
  code: 'domain_unregistered',
  hostname,
  domain: 'shop.test',
  registry: 'test',
};
export const wildcard: Finding = { code: 'wildcard_answers', ...wanted, wildcard: '*.shop.test' };
export const partial: Finding = {
  code: 'apex_partial',
  ...wanted,
  addresses: ['192.0.2.1'],
  missing: [],
};
export const proxied: FindingOf<'proxied'> = {
  code: 'proxied',
  ...wanted,
  by: 'Cloudflare',
  addresses: ['104.16.0.1'],
  passage: 'passes',
};
export const plan: Finding = { code: 'plan_required', hostname };
export const issueCaa = {
  ...add,
  type: 'CAA',
  name: '@',
  value: '0 issue "letsencrypt.org"',
} as const;
export const https = { ...add, verb: 'delete', type: 'HTTPS', value: '1 . alpn=h3' } as const;
/** Every order for such a name is refused. */
export const lasting: SummaryInput['certificate'] = {
  ...refused,
  problem: { summary: 'It does not issue.', action: 'Ask it.', actor: 'customer', isLasting: true },
};
export const addDone = { ...add, state: 'done' } as const;
export const bogus: Finding = { code: 'dnssec_bogus', hostname, zone: 'shop.test', errors: [] };
