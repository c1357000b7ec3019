import { describe, expect, it } from 'vitest';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';

const quiet = {
  findings: [],
  problem: null,
  refusals: 0,
  budget: null,
  probes: [],
  setback: null,
  candidate: null,
  servedUntil: null,
} as const;

describe('the next action of a quarantined job', () => {
  const quarantine = { reason: 'Error: secret?', until: '2026-11-20T13:00:00.000Z' };
  const quarantined = (at: string) =>
    escalationWords('platform_fault', {
      ...quiet,
      quarantine,
      nextAttempt: { order: 'new', at, thenAt: null },
    });

  it('says until when it is quarantined', () => {
    expect(quarantined(quarantine.until).nextAction).toBe(
      'Its job failed repeatedly and was quarantined until 2026-11-20 13:00 UTC; then it runs again.',
    );
  });

  it('says when it runs before that time', () => {
    expect(quarantined('2026-11-20T12:00:00.000Z').nextAction).toBe(
      'Its job failed repeatedly and was quarantined. It runs once more at 2026-11-20 12:00 UTC. If that fails, it is quarantined again, for longer.',
    );
  });

  it('does not show internal errors to the customer', () => {
    expect(JSON.stringify(quarantined(quarantine.until))).not.toContain('secret');
  });
});
