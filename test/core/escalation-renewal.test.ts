/** What a case says of a domain that is served, and whose certificate was not renewed. */
import { describe, expect, it } from 'vitest';
import type {
  EscalationCause,
  EscalationEvidence,
} from '../../src/core/certificates/escalation.ts';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import { missing } from '../support/builders.ts';

const served: EscalationEvidence = {
  findings: [],
  problem: null,
  refusals: 0,
  budget: null,
  probes: [],
  setback: null,
  quarantine: null,
  candidate: null,
  nextAttempt: { order: 'new', at: '2027-02-01T13:00:00.000Z', thenAt: null },
  servedUntil: '2027-02-18T12:00:00.000Z',
};
const until =
  'The certificate ends on 2027-02-18 12:00 UTC and has not been renewed; the old one is served until then. ';
const hourly = 'once an hour at least, next at 2027-02-01 13:00 UTC; the certificate is renewed';

type Row = readonly [EscalationCause, summary: string, nextAction: string];
const table: readonly Row[] = [
  [
    'dns_changed',
    'The DNS has changed since it was verified.',
    `The DNS is checked ${hourly} as soon as the record is right.`,
  ],
  [
    'caa_blocks',
    'A CAA record keeps our certificate authority from issuing.',
    `The CAA records are checked ${hourly} as soon as they allow it.`,
  ],
  [
    'dns_unsettled',
    'The record is there, but no certificate can be issued yet.',
    `The DNS is checked ${hourly} as soon as its servers agree and its signatures are good.`,
  ],
  [
    'dns_unknown',
    'We couldn’t check whether the DNS is still right.',
    `The DNS is checked ${hourly} as soon as it answers.`,
  ],
  [
    'caa_unknown',
    'The CAA question gets no answer, which an authority must take for a refusal.',
    `The CAA records are checked ${hourly} as soon as they answer.`,
  ],
  [
    'platform_fault',
    'Nothing about the domain or the certificate authority explains it: the order did not get on, which is our own fault.',
    'A new order is placed at 2027-02-01 13:00 UTC.',
  ],
];

describe('the case of a domain that is served', () => {
  it.each(table)('for %s says until when, and what follows', (cause, summary, nextAction) => {
    expect(escalationWords(cause, served)).toEqual({ summary: `${until}${summary}`, nextAction });
  });

  it('says what has become of the record, and that it comes back with it', () => {
    const evidence = { ...served, findings: missing.findings, nextAttempt: null };
    const { summary, nextAction } = escalationWords('dns_changed', evidence);
    expect(summary).toMatch(/ since it was verified\. .*docs\.shop\.test/);
    expect(nextAction).toBe(
      'The DNS is checked once an hour at least; the certificate is renewed as soon as the record is right.',
    );
  });

  it('says so no more once the certificate has ended', () => {
    const { summary, nextAction } = escalationWords('dns_unknown', {
      ...served,
      servedUntil: null,
    });
    expect(summary).toBe('We couldn’t check whether the DNS is still right.');
    expect(nextAction).toContain('every minute; the certificate is ordered');
  });
});
