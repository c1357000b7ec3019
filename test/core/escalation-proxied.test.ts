/** Escalations about a name behind the customer's own proxy. */
import { describe, expect, it } from 'vitest';
import { type EscalationCause, likeliestCause } from '../../src/core/certificates/escalation.ts';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import type { FindingOf } from '../../src/core/diagnosis/findings.ts';
import { missing } from '../support/builders.ts';

const proxied: FindingOf<'proxied'> = {
  code: 'proxied',
  hostname: 'docs.shop.test',
  target: 'x.edge.test',
  by: 'Cloudflare',
  addresses: ['104.16.0.1'],
};
const nothing = { problem: null, budget: null, probes: [], setback: null };
const causeOf = (findings: Parameters<typeof likeliestCause>[0]['findings']) =>
  likeliestCause({ ...nothing, findings });

describe('a proxy', () => {
  it.each([
    ['firewall', 'challenge_unreachable'],
    ['unknown', 'challenge_unreachable'],
    ['passes', 'platform_fault'],
  ] as const satisfies readonly (readonly [string, EscalationCause])[])(
    'that does this with challenges: %s, is the cause %s',
    (passage, cause) => {
      expect(causeOf([{ ...proxied, passage }])).toBe(cause);
    },
  );

  it('of another site is not the cause: the record is', () => {
    expect(causeOf([...missing.findings, proxied])).toBe('dns_changed');
  });

  it('is named in the text', () => {
    const { summary } = escalationWords('challenge_unreachable', {
      ...nothing,
      findings: [{ ...proxied, passage: 'firewall' }],
      refusals: 0,
      quarantine: null,
      candidate: null,
      nextAttempt: null,
      servedUntil: null,
    });
    expect(summary).toContain(
      'Cloudflare’s proxy, where a security rule probably stops challenges',
    );
  });
});
