/** Advances one order at the CA that has it. */

import { plainLine } from '../../src/certificates/acme/problems.ts';
import {
  authorityOf,
  type OrderResult,
  predecessorOf,
} from '../../src/certificates/authorities/authority.ts';
import { certificateFault, isCertificateFault } from '../../src/certificates/fault.ts';
import { openKey, sealOf } from '../../src/certificates/vault/keys.ts';
import { limitInWords, type PlacedAs } from '../../src/core/certificates/budget.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { Service } from '../../src/service/service.ts';

/** The order stays open. `detail`: one line, for a person. */
export type Unavailable = {
  readonly kind: 'unavailable';
  /** From Retry-After. */
  readonly retryAfter: Date | null;
  readonly detail: string;
  /** The CA did answer, but is slow or busy. */
  readonly answered?: true;
};

/** A process with other settings has just opened the order. */
const gone: Unavailable = {
  kind: 'unavailable',
  retryAfter: null,
  detail: 'ca_misconfigured: the certificate authority that has the order is not configured',
};

/** A slow or unreachable CA gives `unavailable`; throws faults of the vault and of storage. */
export async function advanceOrder(
  service: Pick<Service, 'authorities' | 'certificates' | 'external' | 'health' | 'now' | 'vault'>,
  order: Certificate,
  before: Certificate | null,
): Promise<OrderResult | Unavailable> {
  const { authorities, certificates, external, health, vault } = service;
  const { id, hostname, orderUrl, sealedKey } = order;
  if (external !== null) return external.check(hostname);
  if (sealedKey === null) throw new Error('an order without an external edge has no key');
  const ours = authorityOf(authorities, order);
  if (ours === null) return gone;
  const { authority, directoryUrl } = ours;
  const privateKey = openKey(vault, sealedKey, sealOf(id));
  try {
    const result = await authority.advance(
      { hostname, orderUrl, privateKey, predecessor: predecessorOf(authorities, order, before) },
      {
        beforePlacing: (kind) => countPlaced(service, id, kind),
        orderPlaced: (url) => certificates.orderPlaced(id, url),
        publishChallenge: (challenge) => certificates.publishChallenge({ id, hostname }, challenge),
      },
    );
    health.note(directoryUrl, 'answered');
    return result;
  } catch (fault) {
    // An unreachable CA is expected, not a fault of the job.
    if (!isCertificateFault(fault) || fault.code.startsWith('vault_')) throw fault;
    health.note(directoryUrl, fault.code);
    const at = authorities.length > 1 ? ` (${authority.name})` : '';
    const detail = plainLine(`${fault.code}${at}: ${fault.message}`);
    const { code, retryAfter } = fault;
    const answered = code === 'order_still_open' ? { answered: true as const } : {};
    return { kind: 'unavailable', retryAfter, detail, ...answered } as const;
  }
}

/** Throws if no token is left: the order stays open, at a CA that has just answered. */
async function countPlaced(
  { certificates, now }: Pick<Service, 'certificates' | 'now'>,
  id: string,
  kind: PlacedAs,
) {
  const wait = await certificates.beforePlacing(id, kind, now());
  if (wait === null) return;
  const message = `it allows ${limitInWords(wait)}; the next order is possible at ${wait.until.toISOString()}`;
  throw certificateFault('order_still_open', message, { retryAfter: wait.until });
}
