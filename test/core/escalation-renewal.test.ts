/** A served domain with an overdue renewal. */
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
  'The certificate expires on 2027-02-18 12:00 UTC and has not been renewed. It is served until then. ';
const hourly = 'at least once an hour, next at 2027-02-01 13:00 UTC; the certificate is renewed';

type Row = readonly [EscalationCause, summary: string, nextAction: string];
const table: readonly Row[] = [
  [
    'dns_changed',
    'The DNS has changed since verification.',
    `The DNS is checked ${hourly} as soon as the record is correct.`,
  ],
  [
    'caa_blocks',
    'A CAA record prevents our certificate authority from issuing.',
    `The CAA records are checked ${hourly} as soon as they allow it.`,
  ],
  [
    'dns_unsettled',
    'The record exists, but no certificate can be issued yet.',
    `The DNS is checked ${hourly} as soon as its name servers agree and its DNSSEC signatures are valid.`,
  ],
  [
    'dns_unknown',
    'We couldn’t check whether the DNS is still correct.',
    `The DNS is checked ${hourly} as soon as it answers.`,
  ],
  [
    'caa_unknown',
    'The CAA query gets no answer. Certificate authorities must treat that as a refusal.',
    `The CAA records are checked ${hourly} as soon as they answer.`,
  ],
  [
    'platform_fault',
    'The order is stuck because of a fault in this platform, not because of the domain or the certificate authority.',
    'A new order is placed at 2027-02-01 13:00 UTC.',
  ],
];

describe('the escalation of a served domain', () => {
  it.each(table)('for %s names the expiry and its effect', (cause, summary, nextAction) => {
    expect(escalationWords(cause, served)).toEqual({ summary: `${until}${summary}`, nextAction });
  });

  it("describes the record's change and that the domain recovers with it", () => {
    const evidence = { ...served, findings: missing.findings, nextAttempt: null };
    const { summary, nextAction } = escalationWords('dns_changed', evidence);
    expect(summary).toMatch(/ since verification\. .*docs\.shop\.test/);
    expect(nextAction).toBe(
      'The DNS is checked at least once an hour; the certificate is renewed as soon as the record is correct.',
    );
  });

  it('is no longer worded as served after the certificate expired', () => {
    const { summary, nextAction } = escalationWords('dns_unknown', {
      ...served,
      servedUntil: null,
    });
    expect(summary).toBe('We couldn’t check whether the DNS is still correct.');
    expect(nextAction).toContain('every minute; the certificate is ordered');
  });
});
