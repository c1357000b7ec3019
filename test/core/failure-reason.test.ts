import { describe, expect, it } from 'vitest';
import { failureReason } from '../../src/core/operations/quarantine.ts';

describe('the reason shown to an operator', () => {
  it.each([
    ['a plain error', 'is not iterable', 'TypeError: is not iterable'],
    [
      'of Prisma, without the source code',
      '\nInvalid `x()` in\n/srv/a.ts:3\n\n→ 3 x(\n\nNo column y',
      'TypeError: No column y',
    ],
    [
      'credentials in a URL',
      'cannot open postgres://me:secret@db/x',
      'TypeError: cannot open postgres://…@db/x',
    ],
    ['a short key', 'no whsec_c2VjcmV0, no signpost_abc', 'TypeError: no whsec_…, no signpost_…'],
    ['a token', `token ${'a1'.repeat(30)} refused`, 'TypeError: token … refused'],
    [
      'a private key',
      'bad -----BEGIN PRIVATE KEY-----\nabc\n\ndef\n-----END PRIVATE KEY----- here',
      'TypeError: bad … here',
    ],
    [
      'an ID is kept',
      'no 0c9e0a8e-5b8e-4b57-9d2c-111111111111',
      'TypeError: no 0c9e0a8e-5b8e-4b57-9d2c-111111111111',
    ],
  ])('%s', (_, message, reason) => {
    expect(failureReason({ name: 'TypeError', message })).toBe(reason);
  });

  it('is one line of at most 300 characters', () => {
    const reason = failureReason({ name: 'Error', message: 'a b\n'.repeat(1_000) });
    expect(reason).toHaveLength(300);
    expect(reason).not.toContain('\n');
  });
});
