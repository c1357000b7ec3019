/**
 * The authority where none is configured: certificates for development and tests, signed by a root of our own. It
 * validates nothing over the network, because whoever can ask it already runs this process; it only makes sure that the
 * name is held here.
 */

import { type KeyObject, randomBytes } from 'node:crypto';
import { DAY } from '../../core/time.ts';
import { generateSigningKey } from '../vault/keys.ts';
import { readCertificate } from '../x509.ts';
import type { CertificateAuthority, OrderResult, OrderState, OrderSteps } from './authority.ts';
import { signLeaf, signRoot, type Validity } from './sign.ts';

/** How the issuer of each of its certificates begins; what follows tells installations apart. */
export const LOCAL_AUTHORITY = 'Signpost local authority';

/** Whether an issuer is a local authority, of whichever installation: browsers trust none of them. */
export function isLocalAuthority(issuer: string): boolean {
  return issuer.startsWith(LOCAL_AUTHORITY);
}

const ROOT_DAYS = 3_650;
const LEAF_DAYS = 90;
/** Clocks differ, so certificates are valid from a little earlier. */
const BACKDATED_MS = 5 * 60_000;

/** A root in PEM and its private key, opened. */
export type LocalRoot = { readonly certificate: string; readonly key: KeyObject };

/** Where the root is kept, and which names may have a certificate. */
export type LocalAuthorityDeps = {
  /** Resolves with the root that is kept; null before the first. */
  readonly loadRoot: () => Promise<LocalRoot | null>;
  /** Keeps the root unless there is one by now, and resolves with the one that counts: several processes share it. */
  readonly keepRoot: (root: LocalRoot) => Promise<LocalRoot>;
  /** Whether a project holds this name. */
  readonly isHeld: (hostname: string) => Promise<boolean>;
  readonly now: () => Date;
};

/** A certificate authority that needs no network and finishes each order in one call. */
export type LocalAuthority = CertificateAuthority & {
  /** Resolves with the root in PEM, for a test or a person to trust. Makes the root where there is none. */
  readonly rootCertificate: () => Promise<string>;
};

/** Returns the authority; its root is loaded or made when it is first needed. */
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
