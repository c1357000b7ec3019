import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';

const kek = randomBytes(32);
const row = 'certificate/9b2f';
const secret = Buffer.from('-----BEGIN PRIVATE KEY-----');

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isCertificateFault(error)) return error.code;
    throw error;
  }
  return 'opened';
}

describe('A private key in the database', () => {
  it('decrypts to the same bytes in its own row', () => {
    const vault = createVault(kek);
    expect(Buffer.from(vault.open(vault.seal(secret, row), row))).toEqual(secret);
  });

  it('decrypts in another process with the same KEY_ENCRYPTION_KEY', () => {
    const sealed = createVault(kek).seal(secret, row);
    expect(Buffer.from(createVault(Uint8Array.from(kek)).open(sealed, row))).toEqual(secret);
  });

  it('can have any length, including zero', () => {
    const vault = createVault(kek);
    for (const length of [0, 1, 15, 16, 17, 100_000]) {
      const key = randomBytes(length);
      expect(Buffer.from(vault.open(vault.seal(key, row), row))).toEqual(key);
    }
  });

  it('has a different ciphertext each time, which leaks nothing of the plaintext', () => {
    const vault = createVault(kek);
    const [one, two] = [vault.seal(secret, row), vault.seal(secret, row)];
    expect(Buffer.from(one).equals(two)).toBe(false);
    expect(Buffer.from(one).includes('PRIVATE')).toBe(false);
  });

  it('does not decrypt when it was copied to another row', () => {
    const vault = createVault(kek);
    const sealed = vault.seal(secret, row);
    expect(codeOf(() => vault.open(sealed, 'certificate/1c3d'))).toBe('vault_item_unreadable');
  });

  it('reports a changed KEY_ENCRYPTION_KEY without showing either key', () => {
    const sealed = createVault(kek).seal(secret, row);
    const other = createVault(randomBytes(32));
    expect(codeOf(() => other.open(sealed, row))).toBe('vault_key_unknown');
    expect(() => other.open(sealed, row)).toThrow(
      /^a stored private key was sealed with another KEY_ENCRYPTION_KEY$/,
    );
  });

  it('does not decrypt when any byte of it has changed', () => {
    const vault = createVault(kek);
    const sealed = vault.seal(secret, row);
    for (let at = 0; at < sealed.length; at++) {
      const damaged = Uint8Array.from(sealed);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      expect(codeOf(() => vault.open(damaged, row))).toMatch(
        /^vault_(item_unreadable|key_unknown)$/,
      );
    }
  });

  it('does not decrypt when it was truncated', () => {
    const vault = createVault(kek);
    const sealed = vault.seal(secret, row);
    for (let length = 0; length < sealed.length; length++) {
      expect(codeOf(() => vault.open(sealed.subarray(0, length), row))).toBe(
        'vault_item_unreadable',
      );
    }
  });

  it('needs a KEY_ENCRYPTION_KEY of the right length', () => {
    expect(() => createVault(randomBytes(31))).toThrow(RangeError);
  });
});

describe('A vault with several keys', () => {
  const [old, newer] = [randomBytes(32), randomBytes(32)];
  const before = createVault(old);
  const between = createVault(newer, old);
  const after = createVault(newer);

  it('seals with the first key and opens with each', () => {
    const sealed = before.seal(secret, row);
    expect(between.open(sealed, row)).toEqual(secret);
    const resealed = between.seal(between.open(sealed, row), row);
    expect(after.open(resealed, row)).toEqual(secret);
    expect(codeOf(() => before.open(resealed, row))).toBe('vault_key_unknown');
    expect(createVault(old, newer).open(resealed, row)).toEqual(secret);
  });

  it('recognizes by its first bytes an item it can open, and one sealed with the first key', () => {
    const [sealed, resealed] = [before.seal(secret, row), after.seal(secret, row)];
    for (const item of [sealed, resealed]) {
      expect(between.knows(item.subarray(0, between.header.length))).toBe(true);
    }
    expect([before.knows(resealed), after.knows(sealed)]).toEqual([false, false]);
    const begins = (item: Uint8Array) =>
      Buffer.from(item.subarray(0, between.header.length)).equals(between.header);
    expect([sealed, resealed].map(begins)).toEqual([false, true]);
  });

  it('does not open an item whose key ID was exchanged for the other key’s', () => {
    const sealed = Buffer.from(before.seal(secret, row));
    sealed.set(after.header);
    expect(codeOf(() => between.open(sealed, row))).toBe('vault_item_unreadable');
  });

  it('derives secrets from the first key', () => {
    const of = (vault: typeof between) => vault.derive('a purpose').toString('hex');
    expect(of(between)).toBe(of(after));
    expect(of(before)).not.toBe(of(after));
  });
});
