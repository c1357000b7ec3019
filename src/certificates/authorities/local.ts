/** The default CA, for development and tests. It only checks that the name is held here. */

import { type KeyObject, randomBytes } from 'node:crypto';
import { DAY, MINUTE } from '../../core/time.ts';
import { generatePrivateKey } from '../vault/keys.ts';
import { readCertificate } from '../x509.ts';
import type { CertificateAuthority, OrderResult, OrderState, OrderSteps } from './authority.ts';
import { signLeaf, signRoot, type Validity } from './sign.ts';

/** A random suffix tells installations apart. */
export const LOCAL_AUTHORITY = 'Signpost local authority';

/** A local CA of any installation; browsers do not trust it. */
export function isLocalAuthority(issuer: string): boolean {
  return issuer.startsWith(LOCAL_AUTHORITY);
}

const ROOT_DAYS = 3_650;
const LEAF_DAYS = 90;
/** Allows for differing clocks. */
const BACKDATED_MS = 5 * MINUTE;

export type LocalRoot = { readonly certificate: string; readonly key: KeyObject };

export type LocalAuthorityDeps = {
  readonly loadRoot: () => Promise<LocalRoot | null>;
  /** Stores the root unless one exists, and resolves with the stored one: processes share it. */
  readonly keepRoot: (root: LocalRoot) => Promise<LocalRoot>;
  readonly isHeld: (hostname: string) => Promise<boolean>;
  readonly now: () => Date;
};

export type LocalAuthority = CertificateAuthority & {
  /** PEM, to be trusted by tests or people. Creates the root if needed. */
  readonly rootCertificate: () => Promise<string>;
};

/** The root is loaded or created at first use. */
export function createLocalAuthority(deps: LocalAuthorityDeps): LocalAuthority {
  let known: Promise<LocalRoot> | null = null;
  const root = () => {
    known ??= openRoot(deps).catch((error: unknown) => {
      known = null; // retried next time
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
  const key = generatePrivateKey();
  // A unique name, so that browsers' stores don't confuse installations.
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
  // The root stays out of the chain: a client has it or does not trust it (RFC 8446, 4.4.2).
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
