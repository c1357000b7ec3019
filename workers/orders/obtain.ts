/** Obtains a certificate for a verified or a live domain. */

import { plainLine } from '../../src/certificates/acme/problems.ts';
import {
  authorityOf,
  type OrderResult,
  predecessorOf,
} from '../../src/certificates/authorities/authority.ts';
import { certificateFault, isCertificateFault } from '../../src/certificates/fault.ts';
import { openKey, sealOf } from '../../src/certificates/vault/keys.ts';
import { limitInWords, type PlacedAs } from '../../src/core/certificates/budget.ts';
import { renewalCheckAt } from '../../src/core/certificates/renewal.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { IssueWork, Setback } from '../../src/db/issuance/issue-work.ts';
import { inSpan } from '../../src/net/tracing.ts';
import type { Service } from '../../src/service/service.ts';
import { done, type JobResult, retryNow } from '../running/job.ts';
import { afterRefusal, afterSetback, type OrderWork, takeUp } from './choose-authority.ts';

/**
 * Stores every result, with the time of the next attempt. `forbidden`: indexes of the CAs that CAA
 * forbids. Idempotent: an open order is never duplicated.
 */
export async function obtain(
  service: Service,
  loaded: IssueWork,
  forbidden: readonly number[],
): Promise<JobResult> {
  const work = { ...loaded, forbidden };
  const order = await takeUp(service, work);
  // The domain was removed or verified again since it was loaded.
  if (order === null) return done;
  if ('until' in order) {
    return postponed(service, work.domain, order.until, order.note);
  }
  const attributes = { 'signpost.domain.id': order.domainId };
  const result = await inSpan('advance order', attributes, () =>
    advanceOrder(service, order, work.usable),
  );
  return conclude(service, work, order, asNewCertificate(service, work, order, result));
}

async function conclude(
  service: Service,
  work: OrderWork,
  order: Certificate,
  result: OrderResult | Unavailable,
): Promise<JobResult> {
  const now = service.now();
  const { domain } = work;
  switch (result.kind) {
    case 'issued': {
      const { chain, issuer, notBefore: issuedAt, notAfter: expiresAt } = result;
      const certificate = { chain, issuer, issuedAt, expiresAt };
      // Another run shares the order; this domain can use what it stored.
      if (!(await service.certificates.store(domain, order.id, certificate, now)))
        return retryNow(now);
      const job = { domainId: domain.id, epoch: domain.epoch };
      if (domain.state.status === 'verified')
        await service.queues.remove('escalate-certificate', job);
      await service.handshakes.recordServed(domain, { isNew: true });
      return done;
    }
    case 'refused': {
      const { type, detail, retryAfter } = result.problem;
      const at = afterRefusal(service, work, order, { type, at: now, retryAfter });
      const asked = retryAfter === null ? {} : { retryAfter: retryAfter.toISOString() };
      const refusal = { problem: { type, detail, ...asked }, nextAttemptAt: at };
      const { isPlanned } = await service.certificates.refuse(domain, order.id, refusal, now);
      return isPlanned ? { kind: 'again', at, note: `refused: ${type}` } : retryNow(now);
    }
    case 'unavailable': {
      const setback = setbackOf(work, order, result, now);
      await service.certificates.setBack(order.id, setback);
      const at = afterSetback(service, work, order, setback);
      return postponed(service, domain, at, `not issued yet: ${result.detail}`);
    }
  }
}

/** A slow CA does not extend an earlier outage. */
function setbackOf(work: OrderWork, order: Certificate, result: Unavailable, at: Date): Setback {
  const { detail, retryAfter } = result;
  const answered = result.answered === true;
  const before = order.id === work.order?.id ? work.setback : null;
  const since = before?.answered === answered ? before.since : at;
  return { at, since, answered, detail, retryAfter };
}

/** An external edge renews on its own schedule: the old certificate is not a result. */
function asNewCertificate(
  { config, now }: Service,
  { domain, usable }: IssueWork,
  order: Certificate,
  result: OrderResult | Unavailable,
): OrderResult | Unavailable {
  const isRenewal = order.sealedKey === null && domain.state.status !== 'verified';
  if (!isRenewal || result.kind !== 'issued' || !usable?.expiresAt) return result;
  if (result.notAfter > usable.expiresAt) return result;
  const at = now();
  const detail = `the certificate that expires at ${result.notAfter.toISOString()} is still served`;
  const retryAfter = renewalCheckAt(at, config.timeScale);
  return { kind: 'unavailable', detail, retryAfter, answered: true };
}

/** Runs again at once if `verify` was requested in the meantime. */
async function postponed(
  { certificates, now }: Service,
  domain: LoadedDomain,
  at: Date,
  note: string,
): Promise<JobResult> {
  const isPlanned = await certificates.postpone(domain, at);
  return isPlanned ? { kind: 'again', at, note } : retryNow(now());
}

// Advances one order at the CA that has it.

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
async function advanceOrder(
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
