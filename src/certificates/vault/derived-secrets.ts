/**
 * Secrets that every process of an installation shares and that outlive a key encryption key: each is derived from one
 * once, and from then on stored, sealed like everything else (docs/decisions/0018-key-rotation.md).
 */

import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { PROOF_PREFIX } from '../../core/names/proof.ts';
import type { Claim } from '../../db/domains/domain-row.ts';
import { NotPrepared } from '../../db/engine/prepared.ts';
import type { DerivedSecretStore } from '../../db/issuance/authority-keys.ts';
import type { Vault } from './vault.ts';

/** What each is derived for (RFC 5869, 3.2). Another text would change the records that customers have published. */
const purposes = {
  target: 'signpost target',
  proof: 'signpost domain verification',
  probe: 'signpost probe',
  session: 'signpost dashboard session',
  signing: 'signpost request signing',
  tickets: 'signpost session tickets',
} as const;

/** What a secret is for. */
export type DerivedSecretName = keyof typeof purposes;
/** Every secret by its name, of 32 bytes each. */
export type DerivedSecrets = Readonly<Record<DerivedSecretName, Uint8Array>>;

/** What an edge works with; it neither has nor derives the others. */
const namesOfEdges: readonly DerivedSecretName[] = ['target', 'probe', 'signing', 'tickets'];

/** All names, in a fixed order. */
export const derivedSecretNames = Object.keys(purposes) as readonly DerivedSecretName[];

/**
 * Derives all of them from the KEK that sealed `like`; from the first one where it is null. The same KEK always gives
 * the same secrets. Throws `vault_key_unknown`.
 */
export function deriveSecrets(vault: Vault, like: Uint8Array | null = null): DerivedSecrets {
  return eachName((name) => vault.derive(purposes[name], like));
}

/**
 * Resolves with the secrets as they are stored; those that are missing are derived and stored first. Several processes
 * may start at once: what was stored first counts for all. Throws the vault's faults.
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

/**
 * Resolves with the secrets that an edge works with, as they are stored; in the place of each other there are no bytes, by
 * which nothing can be made. Rejects with NotPrepared where one is not stored yet. Throws the vault's faults.
 */
export async function loadEdgeSecrets(
  store: Pick<DerivedSecretStore, 'load'>,
  vault: Pick<Vault, 'open'>,
): Promise<DerivedSecrets> {
  const stored = await store.load();
  return eachName((name) => {
    if (!namesOfEdges.includes(name)) return new Uint8Array();
    const found = stored.find((one) => one.name === name);
    if (found === undefined) throw new NotPrepared(`the derived secret ${name} is not stored yet`);
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
 * Returns the function that names the target of a project's host name: `<16 base32 characters>.<platformDomain>`, by a
 * keyed hash. The same pair asks for the same record for ever, nobody can guess another's, and a CNAME to it proves
 * which project controls the name. `secret`: `target` of the derived secrets.
 */
export function createTargets(secret: Uint8Array, platformDomain: string) {
  const characters = keyedHash(secret);
  return (projectId: string, hostname: string): string =>
    `${characters(projectId, hostname).slice(0, 16)}.${platformDomain}`;
}

/**
 * Returns the function that makes the value of the TXT record which proves whose an apex is (core/names/proof.ts):
 * `signpost-domain-verification=<32 base32 characters>`, the same for a claim for as long as it lasts, and another one for
 * every other claim. Its secret, `proof`, is its own, so that the target, which every visitor's resolver sees, gives nothing
 * of it away.
 */
export function createProofs(secret: Uint8Array): ProofFor {
  const characters = keyedHash(secret);
  return ({ projectId, hostname, claimNonce }) =>
    `${PROOF_PREFIX}${characters(projectId, hostname, ...(claimNonce === null ? [] : [claimNonce]))}`;
}

/** The value of a claim's TXT record. */
export type ProofFor = (claim: Claim) => string;

/** Returns a new nonce for a claim: 128 random bits in base64url. */
export function newClaimNonce(): string {
  return randomBytes(16).toString('base64url');
}

/**
 * Returns the function that gives the key which signs the requests to a project's deploys, of 32 bytes: the same for the same
 * project and generation for ever, so that no key is stored. `secret`: `signing` of the derived secrets.
 */
export function createSigningKeys(secret: Uint8Array) {
  return (projectId: string, generation: number): Uint8Array =>
    createHmac('sha256', secret).update(`${projectId}/${generation}`).digest();
}

/** 32 base32 characters of a project, a host name and what else there is, none of which has a slash. */
function keyedHash(key: Uint8Array) {
  return (...parts: readonly string[]): string => {
    if (key.length === 0) throw new Error('an edge has no secret to make this with');
    const hash = createHmac('sha256', key).update(parts.join('/')).digest();
    return Array.from(hash, (byte) => alphabet[byte & 31]).join('');
  };
}

/** Our choice: RFC 9325, 3.4 wants new keys at least once a week, and a visitor pays for each with one whole handshake. */
const TICKETS_MS = 12 * 3_600_000;
/** A name, a key for its mac and one for AES-128, of 16 bytes each: what node:tls takes. */
const TICKET_KEY_BYTES = 48;

/** The keys that seal session tickets now; the same Buffer for as long as they count. */
export type TicketKeys = () => Buffer;

/**
 * Returns the function that gives the keys of the present half day to every process of an installation: a visitor resumes
 * at one edge what began at another. What an earlier half day's keys have sealed is opened by nobody, because node:tls has
 * one set at a time: its visitor makes a whole handshake. `secret`: `tickets` of the derived secrets.
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
