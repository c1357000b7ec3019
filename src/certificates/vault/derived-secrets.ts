/** Shared secrets, derived from a KEK once, then stored (docs/decisions/0018-key-rotation.md). */

import { createHmac } from 'node:crypto';
import { PROOF_PREFIX } from '../../core/names/proof.ts';
import type { DerivedSecretStore } from '../../db/issuance/authority-keys.ts';
import type { Vault } from './vault.ts';

/** HKDF info (RFC 5869, 3.2). Changing one would change the records that customers published. */
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

export const derivedSecretNames = Object.keys(purposes) as readonly DerivedSecretName[];

/** From the first KEK. Deterministic. */
export function deriveSecrets(vault: Vault): DerivedSecrets {
  return eachName((name) => vault.derive(purposes[name]));
}

/** Concurrent processes use the first stored value. Throws the vault's faults. */
export async function loadDerivedSecrets(
  store: DerivedSecretStore,
  vault: Vault,
): Promise<DerivedSecrets> {
  let stored = await store.load();
  const isStored = (name: string) => stored.some((one) => one.name === name);
  const missing = derivedSecretNames.filter((name) => !isStored(name));
  if (missing.length > 0) {
    const derived = deriveSecrets(vault);
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
 * `<16 base32 characters>.<platformDomain>`, by a keyed hash. Deterministic and not guessable, so a
 * CNAME to it proves which project controls the name. `secret`: `target` of the derived secrets.
 */
export function createTargets(secret: Uint8Array, platformDomain: string) {
  const characters = keyedHash(secret);
  return (projectId: string, hostname: string): string =>
    `${characters(projectId, hostname).slice(0, 16)}.${platformDomain}`;
}

/**
 * The TXT record that proves ownership (core/names/proof.ts):
 * `signpost-domain-verification=<32 base32 characters>`. It belongs to one claim, because each
 * addition of a name has a new domain ID. It has a separate secret, `proof`, since the target is
 * public.
 */
export function createProofs(secret: Uint8Array) {
  const characters = keyedHash(secret);
  return (domainId: string, hostname: string): string =>
    `${PROOF_PREFIX}${characters(domainId, hostname)}`;
}

/** 32 bytes, never stored. `secret`: `signing` of the derived secrets. */
export function createSigningKeys(secret: Uint8Array) {
  return (projectId: string, generation: number): Uint8Array =>
    createHmac('sha256', secret).update(`${projectId}/${generation}`).digest();
}

function keyedHash(key: Uint8Array) {
  return (id: string, hostname: string): string => {
    const hash = createHmac('sha256', key).update(`${id}/${hostname}`).digest();
    return Array.from(hash, (byte) => alphabet[byte & 31]).join('');
  };
}
