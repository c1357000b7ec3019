/**
 * Secrets that all processes of an installation share and that outlive a key encryption key (KEK).
 * Each is derived from a KEK once, then stored sealed (docs/decisions/0018-key-rotation.md).
 */

import { createHmac, hkdfSync } from 'node:crypto';
import type { DerivedSecretStore } from '../../db/issuance/authority-keys.ts';
import type { Vault } from './vault.ts';

/**
 * HKDF info strings (RFC 5869, 3.2). Changing one would change the records that customers have
 * published.
 */
const purposes = {
  target: 'signpost target',
  proof: 'signpost domain verification',
  probe: 'signpost probe',
  session: 'signpost dashboard session',
  signing: 'signpost request signing',
  tickets: 'signpost session tickets',
} as const;

export type DerivedSecretName = keyof typeof purposes;
/** 32 bytes each. */
export type DerivedSecrets = Readonly<Record<DerivedSecretName, Uint8Array>>;

/** In a fixed order. */
export const derivedSecretNames = Object.keys(purposes) as readonly DerivedSecretName[];

/**
 * Derives all secrets from the KEK that sealed `like`; from the first KEK if null. Deterministic.
 * Throws `vault_key_unknown`.
 */
export function deriveSecrets(vault: Vault, like: Uint8Array | null = null): DerivedSecrets {
  return eachName((name) => vault.derive(purposes[name], like));
}

/**
 * Loads the secrets; derives and stores missing ones first. Several processes can start at once:
 * the first stored value counts. Throws the vault's faults.
 */
export async function loadDerivedSecrets(
  store: DerivedSecretStore,
  vault: Vault,
  like: Uint8Array | null,
): Promise<DerivedSecrets> {
  let stored = await store.load();
  const isStored = (name: string) => stored.some((one) => one.name === name);
  const missing = derivedSecretNames.filter((name) => !isStored(name));
  if (missing.length > 0) {
    const derived = deriveSecrets(vault, like);
    const sealed = (name: DerivedSecretName) => vault.seal(derived[name], boundTo(name));
    await store.keep(missing.map((name) => ({ name, sealedValue: sealed(name) })));
    stored = await store.load();
  }
  return eachName((name) => {
    const found = stored.find((one) => one.name === name);
    if (found === undefined) throw new Error(`the derived secret ${name} was not stored`);
    return vault.open(found.sealedValue, boundTo(name));
  });
}

function eachName(secretOf: (name: DerivedSecretName) => Uint8Array): DerivedSecrets {
  return {
    target: secretOf('target'),
    proof: secretOf('proof'),
    probe: secretOf('probe'),
    session: secretOf('session'),
    signing: secretOf('signing'),
    tickets: secretOf('tickets'),
  };
}

function boundTo(name: DerivedSecretName): string {
  return `derived_secret/${name}`;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'; // base32, RFC 4648, 6, in lower case

/**
 * Returns the function that names the target of a project's host name: `<16 base32
 * characters>.<platformDomain>`, by a keyed hash. Deterministic and not guessable, so a CNAME to it
 * proves which project controls the name. `secret`: `target` of the derived secrets.
 */
export function createTargets(secret: Uint8Array, platformDomain: string) {
  const characters = keyedHash(secret);
  return (projectId: string, hostname: string): string =>
    `${characters(projectId, hostname).slice(0, 16)}.${platformDomain}`;
}

/**
 * Returns the function for the TXT record that proves ownership of an apex (core/names/proof.ts):
 * `signpost-domain-verification=<32 base32 characters>`. Deterministic. It has a separate secret,
 * `proof`, since the target is public.
 */
export function createProofs(secret: Uint8Array) {
  const characters = keyedHash(secret);
  return (projectId: string, hostname: string): string =>
    `signpost-domain-verification=${characters(projectId, hostname)}`;
}

/**
 * Returns the function for the 32-byte key that signs requests to a project's deploys.
 * Deterministic by project and generation, so no key is stored. `secret`: `signing` of the derived
 * secrets.
 */
export function createSigningKeys(secret: Uint8Array) {
  return (projectId: string, generation: number): Uint8Array =>
    createHmac('sha256', secret).update(`${projectId}/${generation}`).digest();
}

/** Returns 32 base32 characters for a project and a host name. */
function keyedHash(key: Uint8Array) {
  return (projectId: string, hostname: string): string => {
    const hash = createHmac('sha256', key).update(`${projectId}/${hostname}`).digest();
    return Array.from(hash, (byte) => alphabet[byte & 31]).join('');
  };
}

/**
 * RFC 9325, 3.4 asks for new keys at least weekly; each change costs a visitor one full handshake.
 */
const TICKETS_MS = 12 * 3_600_000;
/** A name, a MAC key and an AES-128 key, 16 bytes each, as node:tls expects. */
const TICKET_KEY_BYTES = 48;

/** The current keys of session tickets; returns the same Buffer while they are valid. */
export type TicketKeys = () => Buffer;

/**
 * Returns the function for the current half day's keys, the same in every process of an
 * installation, so that a visitor can resume at another edge. node:tls has one set at a time, so
 * older tickets need a full handshake. `secret`: `tickets` of the derived secrets.
 */
export function createTicketKeys(secret: Uint8Array, now: () => Date): TicketKeys {
  let known = { period: Number.NaN, keys: Buffer.alloc(0) };
  return () => {
    const period = Math.floor(now().getTime() / TICKETS_MS);
    if (period !== known.period) {
      const derived = hkdfSync('sha256', secret, '', `keys ${period}`, TICKET_KEY_BYTES);
      known = { period, keys: Buffer.from(derived) };
    }
    return known.keys;
  };
}
