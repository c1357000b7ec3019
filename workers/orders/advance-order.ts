/** One order at whichever authority has it: what a worker is handed as `advance`. */

import { plainLine } from '../../src/certificates/acme/problems.ts';
import {
  type Authorities,
  authorityOf,
  predecessorOf,
} from '../../src/certificates/authorities/authority.ts';
import type { ExternalAuthority } from '../../src/certificates/authorities/external.ts';
import type { AuthorityHealth } from '../../src/certificates/authorities/health.ts';
import { certificateFault, isCertificateFault } from '../../src/certificates/fault.ts';
import { openKey, sealOf } from '../../src/certificates/vault/keys.ts';
import type { Vault } from '../../src/certificates/vault/vault.ts';
import { limitInWords, type PlacedAs } from '../../src/core/certificates/budget.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { Unavailable } from '../issue-certificate.ts';

/** What an order is advanced with. */
export type AdvanceDeps = {
  readonly authorities: Authorities;
  readonly certificates: Pick<
    CertificateStore,
    'beforePlacing' | 'orderPlaced' | 'publishChallenge'
  >;
  /** Null where certificates are our own. */
  readonly external: ExternalAuthority | null;
  readonly health: Pick<AuthorityHealth, 'note'>;
  readonly vault: Vault;
  now(): Date;
};

/** Another process, whose settings differ, opened the order a moment ago. */
const gone: Unavailable = {
  kind: 'unavailable',
  retryAfter: null,
  detail: 'the certificate authority that has the order is none of ours',
};

/**
 * Takes an order as far as it goes, and notes whether its authority answers. `before`: the certificate that it is to
 * replace, if there is one. An authority that is away or slow is `unavailable`; faults of the vault and of storage are
 * thrown.
 */
export async function advance(parts: AdvanceDeps, order: Certificate, before: Certificate | null) {
  const { authorities, certificates, external, health, vault } = parts;
  const { id, hostname, orderUrl, sealedKey } = order;
  if (external !== null) return external.check(hostname);
  if (sealedKey === null) throw new Error('an order of our own has no key');
  const ours = authorityOf(authorities, order);
  if (ours === null) return gone;
  const { authority, directoryUrl } = ours;
  const privateKey = openKey(vault, sealedKey, sealOf(id));
  try {
    const result = await authority.advance(
      { hostname, orderUrl, privateKey, predecessor: predecessorOf(authorities, order, before) },
      {
        beforePlacing: (kind) => countPlaced(parts, id, kind),
        orderPlaced: (url) => certificates.orderPlaced(id, url),
        publishChallenge: (challenge) => certificates.publishChallenge({ id, hostname }, challenge),
      },
    );
    health.note(directoryUrl, 'answered');
    return result;
  } catch (fault) {
    // An authority that is away is part of the plan, not a fault of the job.
    if (!isCertificateFault(fault) || fault.code.startsWith('vault_')) throw fault;
    health.note(directoryUrl, fault.code);
    const at = authorities.length > 1 ? ` (${authority.name})` : '';
    const detail = plainLine(`${fault.code}${at}: ${fault.message}`);
    const { code, retryAfter } = fault;
    const answered = code === 'order_still_open' ? { answered: true as const } : {};
    return { kind: 'unavailable', retryAfter, detail, ...answered } as const;
  }
}

/** Throws where a token is missing: the order stays open, at an authority that has just answered. */
async function countPlaced({ certificates, now }: AdvanceDeps, id: string, kind: PlacedAs) {
  const wait = await certificates.beforePlacing(id, kind, now());
  if (wait === null) return;
  const message = `it allows ${limitInWords(wait)}: the next at ${wait.until.toISOString()}`;
  throw certificateFault('order_still_open', message, { retryAfter: wait.until });
}
