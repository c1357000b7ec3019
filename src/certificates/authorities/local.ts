/**
 * The authority where none is configured: certificates for development and tests, signed by a root of our own.
 * It validates nothing over the network, because whoever can ask it already runs this process; it only makes
 * sure that the name is one we hold.
 */

import { type KeyObject, randomBytes } from 'node:crypto';
import { DAY } from '../../core/time.ts';
import { generateSigningKey } from '../vault/keys.ts';
import { readCertificate } from '../x509.ts';
import type { CertificateAuthority, OrderResult, OrderState, OrderSteps } from './authority.ts';
import { signLeaf, signRoot, type Validity } from './sign.ts';

/** How the issuer of every certificate of it begins; more tells one installation's from another's. */
export const LOCAL_AUTHORITY = 'Signpost local authority';

/** Whether a certificate is one of its own: browsers trust none of them. */
export function isLocalAuthority(issuer: string): boolean {
  return issuer.startsWith(LOCAL_AUTHORITY);
}

const ROOT_DAYS = 3_650;
const LEAF_DAYS = 90;
/** Clocks differ. */
const BACKDATED_MS = 5 * 60_000;

/** The root as the caller keeps it, its key sealed. */
export type LocalRoot = { readonly certificate: string; readonly key: KeyObject };

export type LocalAuthorityDeps = {
  readonly loadRoot: () => Promise<LocalRoot | null>;
  /** Keeps the root unless there is one by now, and gives back the one that counts: several processes share it. */
  readonly keepRoot: (root: LocalRoot) => Promise<LocalRoot>;
  readonly isHeld: (hostname: string) => Promise<boolean>;
  readonly now: () => Date;
};

export type LocalAuthority = CertificateAuthority & {
  /** PEM of the root, for a test or a person to trust. */
  readonly rootCertificate: () => Promise<string>;
};

/** An authority without network; its root is made at the first need. */
export function createLocalAuthority(deps: LocalAuthorityDeps): LocalAuthority {
  let known: Promise<LocalRoot> | null = null;
  const root = () => {
    known ??= openRoot(deps).catch((error: unknown) => {
      known = null; // asked again next time
      throw error;
    });
    return known;
  };
  return {
    name: 'local',
    accountUri: async () => null,
    reach: async () => undefined,
    advance: async (order, steps) => issue(deps, await root(), order, steps),
    renewalInfo: async () => null,
    rootCertificate: async () => (await root()).certificate,
  };
}

async function openRoot(deps: LocalAuthorityDeps): Promise<LocalRoot> {
  return (await deps.loadRoot()) ?? deps.keepRoot(await makeRoot(deps.now()));
}

async function makeRoot(now: Date): Promise<LocalRoot> {
  const key = generateSigningKey();
  // Two installations' roots must not be taken for one another in a browser's store.
  const commonName = `${LOCAL_AUTHORITY} ${randomBytes(4).toString('hex')}`;
  return { certificate: await signRoot({ commonName, key, ...validity(now, ROOT_DAYS) }), key };
}

async function issue(
  deps: LocalAuthorityDeps,
  root: LocalRoot,
  { hostname, orderUrl, privateKey }: OrderState,
  steps: OrderSteps,
): Promise<OrderResult> {
  if (!(await deps.isHeld(hostname))) {
    const detail = 'No domain with this name is verified here.';
    return { kind: 'refused', problem: { type: 'rejected_identifier', detail, retryAfter: null } };
  }
  if (orderUrl === null) await steps.orderPlaced(`local:${randomBytes(16).toString('hex')}`);
  const content = { hostname, key: privateKey, ...validity(deps.now(), LEAF_DAYS) };
  const leaf = await signLeaf(content, root);
  // The root stays out of the chain: a client has it already or does not trust it (RFC 8446, 4.4.2).
  return { kind: 'issued', chain: leaf, ...factsOf(leaf) };
}

function factsOf(chain: string) {
  const { notBefore, notAfter, issuer } = readCertificate(chain);
  return { notBefore, notAfter, issuer };
}

function validity(now: Date, days: number): Validity {
  const notBefore = new Date(now.getTime() - BACKDATED_MS);
  return { notBefore, notAfter: new Date(notBefore.getTime() + days * DAY) };
}
