import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { holdsKey, mintKey, parseKey } from '../../../src/config/api-key.ts';

describe('An API key', () => {
  test('shows its type and carries a checksum', () => {
    const { id, token } = mintKey();
    expect(token).toMatch(/^signpost_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
    expect(parseKey(token)).toEqual({ kind: 'ours', id });
    expect(mintKey().token).not.toBe(token);
  });

  test('has the published checksum: CRC-32 in base 62', () => {
    const rest = `signpost_${'0'.repeat(12)}_${'0'.repeat(32)}`; // its CRC-32 is 1507724809
    expect(parseKey(`${rest}1e2G65`)).toEqual({ kind: 'ours', id: '0'.repeat(12) });
    expect(parseKey(`${rest}000000`)).toEqual({ kind: 'mistyped' });
  });

  test('is recognized as mistyped after any change of one character', () => {
    const { token } = mintKey();
    for (let at = token.length - 38; at < token.length; at++) {
      const other = token[at] === 'x' ? 'y' : 'x';
      expect(parseKey(token.slice(0, at) + other + token.slice(at + 1)).kind).toBe('mistyped');
    }
  });

  test.each(['', 'an operators own key', `${mintKey().token}x`, ` ${mintKey().token}`])(
    'does not include %j, which Signpost did not generate',
    (token) => expect(parseKey(token).kind).toBe('foreign'),
  );
});

test.each([
  (token: string) => token,
  (token: string) => `id-${token}`,
  (token: string) => token.slice(0, -1),
])('is recognized within another text, %#', (around) => {
  expect(holdsKey(around(mintKey().token))).toBe(true);
  expect(holdsKey('signpost_x7Gk2mPq9LwZ')).toBe(false);
});

describe('A secret scanner that follows docs/integrate/keys.md', () => {
  const page = readFileSync(new URL('../../../docs/integrate/keys.md', import.meta.url), 'utf8');
  const published = /^ {4}(\S*signpost_\S*)$/m.exec(page)?.[1] ?? '';
  const find = (text: string) => text.match(new RegExp(published, 'g')) ?? [];

  /** Implements the page's rule without the product's code. */
  function isRight(key: string): boolean {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const value = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    return value === crc32(key.slice(0, -6));
  }

  test('finds every key in any context', () => {
    for (let count = 0; count < 200; count++) {
      const { token } = mintKey();
      expect(find(`curl -H "Authorization: Bearer ${token}" # ${token}`)).toEqual([token, token]);
      expect(isRight(token)).toBe(true);
    }
  });

  test('has no false positives', () => {
    const { token } = mintKey();
    const others = [
      `x${token}`,
      `${token}x`,
      `_${token}`,
      token.slice(0, -1),
      token.replace('_', '-'),
    ];
    expect(find(others.join(' '))).toEqual([]);
    expect(isRight(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).toBe(false);
  });
});
