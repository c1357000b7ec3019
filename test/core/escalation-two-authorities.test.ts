import { describe, expect, it } from 'vitest';
import { type EscalationEvidence, likeliestCause } from '../../src/core/certificates/escalation.ts';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';

const evidence: EscalationEvidence = {
  findings: [],
  problem: {
    type: 'rate_limited',
    detail: 'too many certificates',
    retryAfter: '2026-11-21T12:00:00.000Z',
  },
  refusals: 1,
  budget: null,
  probes: [],
  setback: {
    at: '2026-11-20T12:20:00.000Z',
    detail: 'ca_unreachable (acme.second.example): the authority gave no answer (ECONNREFUSED)',
  },
  quarantine: null,
  candidate: null,
  nextAttempt: { order: 'open', at: '2026-11-20T12:30:00.000Z', thenAt: null },
  servedUntil: null,
};

describe('an escalation with two CAs', () => {
  it('names the obstacle of each, and that the open order continues', () => {
    const cause = likeliestCause(evidence);
    expect(cause).toBe('authority_rate_limited');
    expect(escalationWords(cause, evidence, 'operator')).toEqual({
      summary:
        'The certificate authority accepts no new order before 2026-11-21 12:00 UTC. It says: “too many certificates” The open order made no progress at 2026-11-20 12:20 UTC: ca_unreachable (acme.second.example): the authority gave no answer (ECONNREFUSED).',
      nextAction: 'The open order resumes at 2026-11-20 12:30 UTC, then every few minutes.',
    });
    // Codes and network errors are for operators.
    expect(escalationWords(cause, evidence).summary).toMatch(/progress at 2026-11-20 12:20 UTC\.$/);
  });
});

it('The error of a certificate authority is for operators; that of another edge helps its owner', () => {
  const set = (detail: string) => ({
    ...evidence,
    setback: { at: '2026-11-20T12:20:00.000Z', detail },
  });
  const away = set('ca_unreachable: no answer (ECONNREFUSED)');
  const of = (reader: 'customer' | 'operator') =>
    escalationWords('authority_unreachable', away, reader).summary;
  expect(of('operator')).toMatch(/ca_unreachable: no answer \(ECONNREFUSED\)\.$/);
  expect(of('customer')).toMatch(/had not finished\.$/);
  const shown = escalationWords('certificate_not_shown', set('192.0.2.1 refuses the connection'));
  expect(shown.summary).toMatch(/: 192\.0\.2\.1 refuses the connection\.$/);
});
