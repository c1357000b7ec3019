/** Which keys an operator may choose, and how their strength is estimated. */
import { randomBytes, randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { estimatedBits, weaknessOf } from '../src/config/key-strength.ts';

const problem =
  'must have 32 characters, or 128 bits of entropy by estimate: make one by “openssl rand -base64 24”';

describe('The estimate of a key’s entropy', () => {
  const bits = (alphabet: number, full: number, single = 0) => full * Math.log2(alphabet) + single;
  it.each([
    ['', 0],
    ['0', bits(10, 1)],
    ['7294', bits(10, 4)],
    ['deadbe3f', bits(16, 8)],
    ['DEADBE3F', bits(16, 8)],
    ['qzwxec', bits(26, 6)],
    ['qzWX', bits(52, 4)],
    ['qzWX83', bits(62, 6)],
    ['qz-wx-ec', bits(27, 8)],
    ['qz-wx+ec', bits(28, 8)],
    ['aaaaaaaa', bits(10, 2, 6)],
    ['zyxwvu', bits(26, 2, 4)],
    ['12345678', bits(10, 2, 6)],
    ['qzwqzwqzw', bits(26, 5, 4)],
  ])('of %j is %d bits', (key, expected) => {
    expect(estimatedBits(key)).toBeCloseTo(expected, 6);
  });
});

describe('API_KEY', () => {
  it.each([
    'short',
    'sixteen-letters!',
    'a-password-of-an-operator',
    'a-key-to-try-the-page-with',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    '1234567890123456789012345678901',
    'Password1Password1Password1',
    '0123456789abcdef0123456789abcde',
    '4f0c9b1e77d2a6538e1b0d94c7a2f3e',
  ])('must not be %s', (key) => {
    expect(weaknessOf(key)).toBe(problem);
    expect(loadConfig({ API_KEY: key })).toEqual({
      ok: false,
      problems: [{ variable: 'API_KEY', problem }],
    });
  });

  it.each([
    '4f0c9b1e77d2a6538e1b0d94c7a2f3e5',
    'zC7nV0qTgk3yWb9RfXs1Lm',
    'the horse has eaten the battery of my',
  ])('may be %s', (key) => {
    expect(loadConfig({ API_KEY: key })).toMatchObject({ ok: true, config: { apiKey: key } });
  });

  it('may be whatever a generator makes of 128 bits', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
    const drawn = (length: number) =>
      Array.from({ length }, () => letters.charAt(randomInt(letters.length))).join('');
    for (let time = 0; time < 1_000; time += 1) {
      const bytes = randomBytes(16);
      for (const key of [bytes.toString('hex'), bytes.toString('base64'), drawn(24)]) {
        expect([key, weaknessOf(key)]).toEqual([key, null]);
      }
    }
  });
});
