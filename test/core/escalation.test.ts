import { describe, expect, it } from 'vitest';
import {
  type EscalationCause,
  type EscalationEvidence,
  isRepaired,
  keepsCause,
  likeliestCause,
  type Probe,
} from '../../src/core/certificates/escalation.ts';
import { escalationWords, nextActions } from '../../src/core/certificates/escalation-words.ts';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import { missing, noon, unknown } from '../support/builders.ts';

const hostname = 'docs.shop.test';

const caaBlocks: Finding = {
  code: 'caa_blocks',
  hostname,
  foundAt: 'shop.test',
  records: ['0 issue "other.example"'],
  toAdd: '0 issue "letsencrypt.org"',
};
const disagreeing: Finding = {
  code: 'name_servers_disagree',
  hostname,
  target: 'x.edge.test',
  right: ['ns1.shop.test'],
  others: [{ server: 'ns2.shop.test', shows: 'no record' }],
};
const bogus: Finding = { code: 'dnssec_bogus', hostname, zone: 'shop.test', errors: [] };
const caaUnknown: Finding = {
  code: 'caa_unknown',
  hostname,
  name: 'shop.test',
  outcome: 'servfail',
};
const warning: Finding = { code: 'mail_at_name', hostname, target: 'x', exchanges: ['10 mx.'] };
const dnsUnknown = unknown.findings;

const quiet: EscalationEvidence = {
  findings: [],
  problem: null,
  refusals: 0,
  budget: null,
  probes: [],
  setback: null,
  quarantine: null,
  candidate: null,
  nextAttempt: null,
  servedUntil: null,
};
const problem = (type: string) => ({ problem: { type, detail: 'No.' }, refusals: 1 });
const setback = { setback: { at: noon.toISOString(), detail: 'ca_unreachable: no answer' } };
const reachable: Probe = { address: '192.0.2.1', outcome: 'reachable' };
const refused: Probe = { address: '2001:db8::1', outcome: 'refused' };
const unreached = { ...problem('connection'), probes: [refused] };
const budget = {
  limit: 'registrable_domain',
  subject: 'shop.test',
  until: '2026-11-20T15:22:00.000Z',
} as const;
const everythingAtOnce = {
  ...problem('rate_limited'),
  ...setback,
  probes: [refused],
};

describe('the likeliest cause is the first that applies', () => {
  const table: readonly (readonly [EscalationCause, string, Partial<EscalationEvidence>])[] = [
    ['dns_changed', 'the record is gone', { findings: missing.findings }],
    [
      'dns_changed',
      'the record is gone, among other problems',
      { ...everythingAtOnce, findings: [...missing.findings, caaBlocks, disagreeing, caaUnknown] },
    ],
    ['caa_blocks', 'CAA forbids', { findings: [caaBlocks] }],
    ['caa_blocks', 'CAA forbids and servers disagree', { findings: [disagreeing, caaBlocks] }],
    ['dns_unsettled', 'servers disagree', { findings: [disagreeing] }],
    ['dns_unsettled', 'signatures are bad', { ...everythingAtOnce, findings: [bogus] }],
    ['dns_unsettled', 'servers disagree, CAA unknown', { findings: [disagreeing, caaUnknown] }],
    ['dns_unknown', 'no server answers', { ...everythingAtOnce, findings: dnsUnknown }],
    ['dns_unknown', 'no server answers, also for CAA', { findings: [caaUnknown, ...dnsUnknown] }],
    ['caa_unknown', 'the CAA lookup fails', { ...everythingAtOnce, findings: [caaUnknown] }],
    ['authority_rate_limited', 'a limit among other problems', everythingAtOnce],
    ['authority_rate_limited', 'a limit of the CA', { ...unreached, budget }],
    [
      'challenge_unreachable',
      'too many failed for that reason',
      { ...unreached, budget: { ...budget, limit: 'failed_authorizations' } },
    ],
    ...['connection', 'unauthorized', 'incorrect_response', 'tls', 'dns'].map(
      (type) => ['challenge_unreachable', `the CA refused: ${type}`, problem(type)] as const,
    ),
    ['challenge_unreachable', 'an address fails', { probes: [reachable, refused] }],
    [
      'challenge_unreachable',
      'another server answers',
      { ...setback, probes: [{ address: '192.0.2.1', outcome: 'other_answer', status: 301 }] },
    ],
    [
      'challenge_unreachable',
      'an address times out, and the account was refused',
      { ...problem('malformed'), probes: [{ address: '192.0.2.1', outcome: 'timeout' }] },
    ],
    ['secondary_validation', 'only remote perspectives failed', problem('secondary_validation')],
    [
      'challenge_unreachable',
      'an address fails for us too',
      { ...problem('secondary_validation'), probes: [reachable, refused] },
    ],
    ['authority_refused', 'a refusal', problem('rejected_identifier')],
    ['authority_refused', 'a refusal, then an outage', { ...problem('caa'), ...setback }],
    [
      'certificate_not_shown',
      'another edge serves none',
      { setback: { ...setback.setback, isExternal: true } },
    ],
    ['authority_unreachable', 'no response', setback],
    ['authority_unreachable', 'no response, reachable edge', { ...setback, probes: [reachable] }],
    ['platform_fault', 'no known cause', {}],
    ['platform_fault', 'warnings are no cause', { findings: [warning], probes: [reachable] }],
    [
      'platform_fault',
      'a missing route is no cause',
      {
        probes: [
          { address: '2001:db8::1', outcome: 'no_route' },
          { address: '10.0.0.1', outcome: 'reserved' },
        ],
      },
    ],
  ];
  it.each(table)('%s: %s', (cause, _why, evidence) => {
    expect(likeliestCause({ ...quiet, ...evidence })).toBe(cause);
  });

  it('has a row for every cause', () => {
    expect(new Set(table.map(([cause]) => cause))).toEqual(new Set(Object.keys(nextActions)));
  });
});

describe('the texts of an escalation', () => {
  const nextNew = {
    order: 'new',
    at: '2026-11-20T12:30:00.000Z',
    thenAt: '2026-11-20T13:59:00.000Z',
  } as const;
  const table: readonly (readonly [
    EscalationCause,
    Partial<EscalationEvidence>,
    string,
    string,
  ])[] = [
    [
      'dns_changed',
      { findings: missing.findings },
      'The DNS has changed since verification, before the certificate was issued. docs.shop.test does not exist in the DNS yet.',
      'The DNS is checked every few minutes; the certificate is ordered as soon as the record is correct.',
    ],
    [
      'authority_rate_limited',
      {
        problem: {
          type: 'rate_limited',
          detail: 'too many certificates',
          retryAfter: '2026-11-20T12:30:00.000Z',
        },
        nextAttempt: nextNew,
      },
      'The certificate authority accepts no new order before 2026-11-20 12:30 UTC. It says: “too many certificates”',
      'The order is placed again at 2026-11-20 12:30 UTC, when the authority accepts it.',
    ],
    [
      'challenge_unreachable',
      {
        problem: { type: 'connection', detail: 'Fetching …: Connection refused' },
        probes: [
          reachable,
          refused,
          { address: '192.0.2.2', outcome: 'timeout' },
          { address: '192.0.2.3', outcome: 'other_answer', status: 404 },
          { address: '2001:db8::2', outcome: 'no_route' },
        ],
        nextAttempt: nextNew,
      },
      'The certificate authority cannot fetch its challenge from the domain. On port 80, 192.0.2.1 answers correctly; 2001:db8::1 refuses the connection; 192.0.2.2 does not answer within 3 seconds; 192.0.2.3 is answered by something else (status 404). It says: “Fetching …: Connection refused”',
      'The addresses are checked again at 2026-11-20 12:30 UTC, then every few minutes. The order is placed as soon as none of them fails.',
    ],
    [
      'challenge_unreachable',
      { probes: [refused], nextAttempt: nextNew },
      'The certificate authority cannot fetch its challenge from the domain. On port 80, 2001:db8::1 refuses the connection.',
      'The addresses are checked again at 2026-11-20 12:30 UTC, then every few minutes. The order is placed as soon as none of them fails. If only our own machines cannot reach them, the platform’s operator has to change its settings.',
    ],
    [
      'challenge_unreachable',
      {
        problem: { type: 'connection', detail: 'Refused.' },
        probes: [
          { address: '192.0.2.1', method: 'tls-alpn-01', outcome: 'refused' },
          { address: '192.0.2.3', method: 'tls-alpn-01', outcome: 'other_answer', status: null },
          { address: '192.0.2.4', method: 'tls-alpn-01', outcome: 'reachable' },
        ],
        nextAttempt: nextNew,
      },
      'The certificate authority cannot fetch its challenge from the domain. On port 443, 192.0.2.1 refuses the connection; 192.0.2.3 is answered by something else; 192.0.2.4 answers correctly. It says: “Refused.”',
      'The addresses are checked again at 2026-11-20 12:30 UTC, then every few minutes. The order is placed as soon as none of them fails.',
    ],
    [
      'challenge_unreachable',
      { problem: { type: 'connection', detail: 'Refused.' }, nextAttempt: nextNew },
      'The certificate authority cannot fetch its challenge from the domain. It says: “Refused.”',
      'A new order is placed at 2026-11-20 12:30 UTC; if it fails, the next one follows at 2026-11-20 13:59 UTC.',
    ],
    [
      'secondary_validation',
      { problem: { type: 'secondary_validation', detail: 'Timeout' }, nextAttempt: nextNew },
      'The certificate authority reached the domain from its own network, but not from other regions of the world. Typical causes: access is blocked by country, a firewall or bot protection stops it, or a name server does not answer in one region. It says: “Timeout”',
      'A new order is placed at 2026-11-20 12:30 UTC; if it fails, the next one follows at 2026-11-20 13:59 UTC.',
    ],
    [
      'authority_rate_limited',
      { budget, nextAttempt: { ...nextNew, at: budget.until } },
      'The certificate authority allows 50 certificates in 7 days for shop.test and all names below it. That limit is reached; the next order is possible at 2026-11-20 15:22 UTC.',
      'The order is placed at 2026-11-20 15:22 UTC, when the authority accepts it.',
    ],
    [
      'authority_rate_limited',
      {
        budget: { ...budget, limit: 'same_names', subject: hostname },
        servedUntil: '2026-12-08T12:00:00.000Z',
        nextAttempt: nextNew,
      },
      'The certificate expires on 2026-12-08 12:00 UTC and has not been renewed. It is served until then. The certificate authority allows 5 certificates in 7 days for docs.shop.test. That limit is reached; the next order is possible at 2026-11-20 15:22 UTC.',
      'The order is placed at 2026-11-20 12:30 UTC, when the authority accepts it.',
    ],
    [
      'authority_refused',
      { problem: { type: 'malformed', detail: '' }, refusals: 3, nextAttempt: nextNew },
      'The certificate authority refused 3 orders (malformed).',
      'A new order is placed at 2026-11-20 12:30 UTC; if it fails, the next one follows at 2026-11-20 13:59 UTC.',
    ],
    [
      'authority_unreachable',
      { ...setback, nextAttempt: { ...nextNew, order: 'open', thenAt: null } },
      'At 2026-11-20 12:00 UTC the certificate authority was unreachable or had not finished.',
      'The open order resumes at 2026-11-20 12:30 UTC, then every few minutes.',
    ],
  ];
  it.each(table)('%s', (cause, evidence, summary, nextAction) => {
    expect(escalationWords(cause, { ...quiet, ...evidence })).toEqual({ summary, nextAction });
  });

  it.each(Object.keys(nextActions) as EscalationCause[])(
    'of %s are whole sentences, even with little evidence',
    (cause) => {
      const { summary, nextAction } = escalationWords(cause, quiet);
      for (const text of [summary, nextAction]) expect(text).toMatch(/^[A-Z].*[^.]\.$/);
    },
  );
});

describe('the cause of an open escalation', () => {
  const aCase = (candidate: EscalationCause | null) =>
    ({ cause: 'authority_refused', evidence: { ...quiet, candidate } }) as const;
  const table: readonly (readonly [boolean, string, EscalationCause | null, EscalationCause])[] = [
    [false, 'is found again', null, 'authority_refused'],
    [true, 'is not found by one check', null, 'dns_unknown'],
    [false, 'changes at two checks in a row', 'dns_unknown', 'dns_unknown'],
    [true, 'differs at each of two checks', 'dns_unknown', 'authority_unreachable'],
    [false, 'came back after one check', 'dns_unknown', 'authority_refused'],
    [false, 'changes to a missing record at once', null, 'dns_changed'],
    [false, 'changes to a CAA record at once', null, 'caa_blocks'],
  ];
  it.each(table)('is kept (%s) when it %s', (kept, _what, candidate, found) => {
    expect(keepsCause(aCase(candidate), found, false)).toBe(kept);
  });

  it.each(['dns_changed', 'caa_blocks'] as const)(
    'changes to %s at the second check only while the domain is served',
    (found) => {
      expect(keepsCause(aCase(null), found, true)).toBe(true);
      expect(keepsCause(aCase(found), found, true)).toBe(false);
    },
  );
});

describe('a cause is repaired', () => {
  const table: readonly (readonly [boolean, readonly Probe[], readonly Probe[]])[] = [
    [true, [reachable, refused], [reachable]],
    [true, [refused], [{ ...refused, outcome: 'reachable' }]],
    [false, [refused], [refused, reachable]],
    [false, [reachable], [reachable]],
    [false, [refused], []],
    [false, [refused], [{ ...refused, outcome: 'no_route' }]],
  ];
  it.each(table)('%s: before %j, now %j', (repaired, before, after) => {
    expect(isRepaired({ probes: before }, { probes: after })).toBe(repaired);
  });
});
