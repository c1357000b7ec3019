import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  generatePrivateKey,
  openKey,
  privateKeyToPem,
  sealKey,
} from '../../src/certificates/vault/keys.ts';
import { createVault, type Vault } from '../../src/certificates/vault/vault.ts';
import { createTlsServers } from '../../src/edge/tls/secure-contexts.ts';
import { siteOf, ticketKeys } from '../edge/support/sites.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';

const row = 'certificate/9b2f';

/** A vault that records every buffer with plaintext. */
function watchedVault() {
  const inner = createVault(randomBytes(32));
  const seen: Uint8Array[] = [];
  const vault: Vault = {
    ...inner,
    seal(plaintext, boundTo) {
      seen.push(plaintext);
      return inner.seal(plaintext, boundTo);
    },
    open(sealed, boundTo) {
      const opened = inner.open(sealed, boundTo);
      seen.push(opened);
      return opened;
    },
  };
  return { vault, seen, isZero: () => seen.every((bytes) => bytes.every((byte) => byte === 0)) };
}

describe('A plaintext private key', () => {
  it('is zeroed after sealing and after reading', () => {
    const { vault, seen, isZero } = watchedVault();
    const key = generatePrivateKey();
    const opened = openKey(vault, sealKey(vault, key, row), row);
    expect(privateKeyToPem(opened)).toBe(privateKeyToPem(key));
    expect([seen.length, isZero()]).toEqual([2, true]);
  });

  it('is zeroed when it cannot be parsed', () => {
    const { vault, isZero } = watchedVault();
    const sealed = vault.seal(new Uint8Array(8).fill(0), row);
    expect(() => openKey(vault, sealed, row)).toThrow();
    expect(isZero()).toBe(true);
  });

  it('is zeroed after the edge has built its TLS context or has failed to', async () => {
    const { chain, key } = await localhostCertificate();
    const buffers = [Buffer.from(key), Buffer.from('no key')] as const;
    const deps = { ticketKeys, handshakeMs: 1_000, receiver: new EventEmitter() };
    const [right, wrong] = buffers.map((bytes) =>
      createTlsServers({ ...deps, loadCertificate: async () => ({ chain, key: bytes }) }),
    );
    expect(await right?.(siteOf('id'))).not.toBeNull();
    await expect(wrong?.(siteOf('id'))).rejects.toThrow();
    expect(buffers.map((bytes) => bytes.every((byte) => byte === 0))).toEqual([true, true]);
  });
});
