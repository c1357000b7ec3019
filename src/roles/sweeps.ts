/** What the sweeps are handed: batches from the database, each on its own interval. */
import { type AskRenewalsDeps, askRenewals } from '../../workers/ask-renewals.ts';
import type { EscalateCertificateDeps } from '../../workers/escalate-certificate.ts';
import {
  type EscalateRenewalDeps,
  escalateRenewals,
  escalationAtEnd,
} from '../../workers/escalate-renewal.ts';
import type { IssueCertificateDeps } from '../../workers/issue-certificate.ts';
import { type RecheckLiveDeps, recheckLive } from '../../workers/recheck-live.ts';
import { type RenewCertificateDeps, renewCertificate } from '../../workers/renew-certificate.ts';
import type { WorkerDeps } from '../../workers/start.ts';
import { askRenewal } from '../certificates/authorities/authority.ts';
import type { SweepQueue } from '../core/operations/jobs.ts';
import type { Certificate } from '../core/records.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createDueDomains } from '../db/domains/sweeps.ts';
import { openRenewalEscalation, postponeRenewalEscalation } from '../db/issuance/escalations.ts';
import { createRenewalStore } from '../db/issuance/renewals.ts';
import type { Earlier } from '../dns/observe/observe.ts';
import { inSpan } from '../net/tracing.ts';
import { earlierOf, observeDomain } from './checks.ts';
import type { Parts } from './parts.ts';

/** Checks settled domains, and renewals. */
export function sweeps(
  parts: Parts,
  issue: IssueCertificateDeps,
  escalate: EscalateCertificateDeps,
): Pick<WorkerDeps, 'recheckLive' | 'renewCertificate' | 'escalateRenewals' | 'askRenewals'> {
  const { checks, config, database, log, now } = parts;
  const onFaultIn = (queue: SweepQueue) => (err: unknown, domainId: string) =>
    log.error({ err, queue, domainId }, 'a sweep met a fault at one domain');
  const atEnd: RecheckLiveDeps['escalationAtEnd'] = (...asked) =>
    escalationAtEnd(escalate, ...asked);
  const shared = { ...issue, onFault: onFaultIn('renew-certificate'), escalationAtEnd: atEnd };
  const rechecked = (domain: LoadedDomain, earlier?: Earlier) =>
    inSpan('recheck-live domain', { 'signpost.domain.id': domain.id }, () =>
      observeDomain(parts, domain, earlier),
    );
  const recheck: RecheckLiveDeps = {
    ...shared,
    onFault: onFaultIn('recheck-live'),
    due: createDueDomains(database.prisma, 'recheck-live'),
    load: checks.load,
    observe: (domain) => rechecked(domain, earlierOf(parts, domain)),
    observeInFull: (domain) => rechecked(domain),
    // Beside the checks of pending domains, for which somebody waits. 100,000 live ones are 33 checks a second.
    atOnce: config.storage.kind === 'postgres_redis' ? 100 : 25,
  };
  const due = createDueDomains(database.prisma, 'renew-certificate');
  // An order waits for its authority most of the time. Ten a second, where one takes five: a revocation leaves a day.
  const orders = config.storage.kind === 'embedded' ? 10 : 50;
  const renew: RenewCertificateDeps = { ...shared, due, atOnce: orders };
  const quarantine = createQuarantineStore(database.prisma);
  const overdue: EscalateRenewalDeps = {
    ...escalate,
    onFault: shared.onFault,
    due: createDueDomains(database.prisma, 'escalate-renewals'),
    openEscalation: (domain, escalation, times) =>
      openRenewalEscalation(database.prisma, domain, escalation, times),
    postponeEscalation: (domain, at) => postponeRenewalEscalation(database.prisma, domain, at),
    findQuarantine: (domainId) => quarantine.find('renew-certificate', domainId, now()),
    atOnce: 4,
  };
  const asked: AskRenewalsDeps = { ...askDeps(parts, issue), onFault: shared.onFault };
  return {
    recheckLive: (stop) => recheckLive(recheck, stop),
    renewCertificate: (stop) => renewCertificate(renew, stop),
    escalateRenewals: (stop) => escalateRenewals(overdue, stop),
    askRenewals: (stop) => askRenewals(asked, stop),
  };
}

/** A courtesy of the authorities: neither many at once, nor before anything else. */
function askDeps(parts: Parts, { rules, now }: IssueCertificateDeps) {
  const { authorities, certificates, database } = parts;
  return {
    rules,
    now,
    loadWork: certificates.loadWork,
    plan: createRenewalStore(database.prisma).plan,
    ask: (certificate: Certificate) => askRenewal(authorities, certificate),
    due: createDueDomains(database.prisma, 'ask-renewals'),
    atOnce: 10,
  };
}
