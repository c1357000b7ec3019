/** A domain as the API shows it. */
import { isLocalAuthority } from '../../certificates/authorities/local.ts';
import { explainProblem } from '../../core/certificates/problem-words.ts';
import { browserWarning } from '../../core/certificates/served.ts';
import { neededProof } from '../../core/diagnosis/claims.ts';
import { explain } from '../../core/diagnosis/findings.ts';
import { zoneServers } from '../../core/diagnosis/input.ts';
import type { Observation } from '../../core/diagnosis/observation.ts';
import { providerOf } from '../../core/diagnosis/providers.ts';
import { serversShow } from '../../core/diagnosis/shows.ts';
import { windowEnd } from '../../core/life/ladder.ts';
import { summaryLine, summaryOf } from '../../core/life/summary.ts';
import { toUnicodeName } from '../../core/names/idna.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../../core/names/instructions.ts';
import { splitAtZone } from '../../core/names/zone.ts';
import type { Certificate } from '../../core/records.ts';
import { observationIn } from '../../db/domains/domain-row.ts';
import type { DomainDetails } from '../../db/domains/domains.ts';
import { shownIn } from '../../db/domains/served-certificates.ts';
import { type Problem, SUPERSEDED } from '../../db/issuance/issue-work.ts';
import { knownRenewal } from '../../db/issuance/renewals.ts';
import { findingsIn } from '../../events/event-stream.ts';
import { escalationInWords } from './escalation-view.ts';

/**
 * The Domain of docs/api.md, by what is stored: nothing is asked of the DNS or the queue. `windowMs` is the length of the
 * window, 48 hours but in laboratories; `now` decides what has expired.
 */
export function domainView(domain: DomainDetails, windowMs: number, now: Date) {
  const { hostname, projectId, status } = domain;
  const seen = observationIn(domain.observation?.value);
  const { zone, record } = recordOf(domain, seen);
  const certificate = certificateView(domain, now);
  const findings = findingsIn(domain.findings);
  return {
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    projectId,
    status,
    summary: summaryView(domain, certificate, now),
    record,
    proofRecord: neededProof(findings),
    zone,
    provider: seen === null ? null : providerOf(zoneServers(seen)),
    findings: findings.map(explain),
    observation: seen === null ? null : observationView(seen, record),
    checks: {
      attempts: domain.attempts,
      lastCheckedAt: domain.lastCheckedAt,
      nextCheckAt: nextCheckOf(domain),
      windowEndsAt: status === 'pending' ? windowEnd(domain.pendingSince, windowMs) : null,
    },
    verifiedAt: domain.verifiedAt,
    certificate,
    escalation: escalationView(domain),
    hsts: hstsView(domain),
    createdAt: domain.addedAt,
  };
}

/**
 * When the DNS of a domain is checked next: by its own job while it is pending, by a batch later. Null where no check is
 * planned.
 */
export function nextCheckOf({
  status,
  nextCheckAt,
  recheckAt,
}: Pick<DomainDetails, 'status' | 'nextCheckAt' | 'recheckAt'>): Date | null {
  return status === 'pending' ? nextCheckAt : recheckAt;
}

function hstsView({ hsts }: DomainDetails) {
  if (hsts === null) return null;
  const { maxAge, includeSubdomains, preload } = hsts; // a row has its domain's id, too
  return { maxAge, includeSubdomains, preload };
}

/** The status in words: the parts of the summary, and all of them in one line. */
function summaryView(
  domain: DomainDetails,
  { expiresAt, nextAttemptAt, problem }: ReturnType<typeof certificateView>,
  now: Date,
) {
  const { status, lastCheckedAt, verifiedAt, missedAt } = domain;
  const summary = summaryOf(
    {
      status,
      findings: findingsIn(domain.findings),
      lastCheckedAt,
      nextCheckAt: nextCheckOf(domain),
      verifiedAt,
      missedAt,
      certificate: { expiresAt, nextAttemptAt, isRefused: problem !== null },
      hasEscalation: domain.escalations.length > 0,
    },
    now,
  );
  return { line: summaryLine(summary), ...summary };
}

/** The record to create and the zone that it goes into: the zone that the last check found, else the registrable domain. */
function recordOf({ hostname, target, observation }: DomainDetails, seen: Observation | null) {
  // Also of a check that an earlier version stored in another shape: it has its delegation in the same place.
  const delegation = seen?.delegation ?? delegationIn(observation?.value);
  const zone = delegation === null ? undefined : zoneBelow({ hostname, delegation });
  const record = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  return { zone: zone ?? splitAtZone(hostname).zone, record };
}

/** The delegation of a stored observation; null for the first ones, which had none, and before the first check. */
function delegationIn(stored: unknown): Observation['delegation'] {
  if (typeof stored !== 'object' || stored === null || !('delegation' in stored)) return null;
  return (stored.delegation as Observation['delegation']) ?? null; // written by src/db/domains/checks.ts and transitions.ts only
}

/** What each name server showed, in words, when the DNS was last checked in full. */
function observationView(seen: Observation, record: DnsRecord) {
  return { at: seen.at, view: seen.view, servers: serversShow(seen, record) };
}

/**
 * The certificate that the domain has, else the order under way, and beside it why the newest order was refused. Beside a
 * certificate, only a refusal since it came is shown: that of its renewal.
 */
function certificateView(domain: DomainDetails, now: Date) {
  const { certificates, status } = domain;
  const shown =
    certificates.find((one) => one.status === 'issued' && one.expiresAt && one.expiresAt > now) ??
    certificates.find((one) => one.status === 'ordering');
  const refused = certificates.find((one) => one.status === 'failed' && problemOf(one) !== null);
  const isNew = shown?.status !== 'issued' || (refused && endOf(refused) > endOf(shown));
  const problem = isNew ? problemOf(refused) : null;
  return {
    status: shown?.status ?? refused?.status ?? 'none',
    issuedAt: shown?.issuedAt ?? null,
    expiresAt: shown?.expiresAt ?? null,
    issuer: shown?.issuer ?? null,
    nextAttemptAt: nextAttemptOf(domain, status === 'live' && problem !== null),
    problem,
    renewal: renewalView(domain, shown),
    browser: browserView(domain, now),
  };
}

/** The renewal of a live domain's certificate; null for any other status, because nothing else is renewed. */
function renewalView({ status, renewAt }: DomainDetails, shown: Certificate | undefined) {
  if (status !== 'live' || renewAt === null || shown?.status !== 'issued') return null;
  const { window, explanationUrl } = knownRenewal(shown.renewalInfo);
  return { plannedAt: renewAt, window, explanationUrl };
}

/** What a browser meets at the domain, and what its warning means (src/core/certificates/served.ts). */
function browserView(domain: DomainDetails, now: Date) {
  const { certificates, findings, status, missedAt, shown } = domain;
  const issued = certificates.find((one) => one.status === 'issued');
  const visited = {
    status,
    missedAt,
    findings: findingsIn(findings).map(({ code }) => code),
    certificate: issued === undefined ? null : servedTo(issued, now),
    shown: shownIn(shown),
  };
  return browserWarning(visited, now);
}

/** How a browser sees the certificate. One of our own authority is trusted by none. */
function servedTo(issued: Certificate, now: Date) {
  return {
    storedAt: endOf(issued),
    hasEnded: issued.expiresAt === null || issued.expiresAt <= now,
    isTrusted: issued.issuer === null || !isLocalAuthority(issued.issuer),
  };
}

/** When an order ended. The first orders have no such time stored; theirs is the time of the order. */
function endOf({ endedAt, createdAt }: Certificate): Date {
  return endedAt ?? createdAt;
}

/** When an order is placed or taken up next; null where none is planned, and for a renewal that was not refused. */
function nextAttemptOf({ status, nextCheckAt, renewAt }: DomainDetails, renewalFailed: boolean) {
  if (status === 'verified') return nextCheckAt;
  return renewalFailed ? renewAt : null;
}

/**
 * Why the certificate authority refused an order, with what it means. Null where it refused none: also for an order that
 * ended because its domain was removed or lost.
 */
function problemOf(certificate: Certificate | undefined) {
  const problem = (certificate?.problem ?? null) as Problem | null; // written by src/db/issuance/certificates.ts only
  if (problem === null || problem.type === SUPERSEDED) return null;
  const { type, detail } = problem;
  return { type, detail, ...explainProblem(type) };
}

/** The open escalation in the customer's words; null where there is none, or none that this version has words for. */
function escalationView({ escalations: [open] }: DomainDetails) {
  const words = open && escalationInWords(open, 'customer');
  return words ? { openedAt: open.openedAt, ...words } : null;
}
