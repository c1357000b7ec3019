/** Settings are named only to the platform's operator. */
import { describe, expect, it } from 'vitest';
import type {
  EscalationCause,
  EscalationEvidence,
} from '../../src/core/certificates/escalation.ts';
import {
  type EscalationReader,
  escalationWords,
  nextActions,
} from '../../src/core/certificates/escalation-words.ts';

const at = '2026-11-20T12:00:00.000Z';
const evidence: EscalationEvidence = {
  findings: [],
  problem: null,
  refusals: 0,
  budget: null,
  probes: [{ address: '192.0.2.1', outcome: 'refused' }],
  setback: {
    at,
    detail: 'ca_misconfigured (first): set ACME_EAB_KID and ACME_EAB_HMAC_KEY',
  },
  quarantine: null,
  candidate: null,
  nextAttempt: null,
  servedUntil: null,
};

const wordsFor = (cause: EscalationCause, reader: EscalationReader) => {
  const { summary, nextAction } = escalationWords(cause, evidence, reader);
  return `${summary} ${nextAction}`;
};

describe('a setting of the platform', () => {
  it.each([
    ['challenge_unreachable', 'EDGE_PROBE=false'],
    ['authority_unreachable', 'ACME_EAB_KID'],
    ['authority_rate_limited', 'ACME_EAB_KID'],
  ] as const)('is named to the operator only: %s', (cause, setting) => {
    expect(wordsFor(cause, 'operator')).toContain(setting);
    expect(wordsFor(cause, 'customer')).toContain('the platform’s operator has to');
  });

  it.each(Object.keys(nextActions) as EscalationCause[])('is not for customers: %s', (cause) => {
    expect(wordsFor(cause, 'customer')).not.toMatch(/[A-Z]+_[A-Z]/);
  });
});
