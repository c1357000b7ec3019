import { isLocalAuthority } from '../../certificates/authorities/local.ts';
import { explainProblem, isLastingProblem } from '../../core/certificates/problem-words.ts';
import { type BrowserWarning, browserWarning } from '../../core/certificates/served.ts';
import type { DnsChange } from '../../core/diagnosis/changes/change.ts';
import { changesFor } from '../../core/diagnosis/changes/changes.ts';
import { explain } from '../../core/diagnosis/findings.ts';
import { zoneServers } from '../../core/diagnosis/input.ts';
import type { Observation } from '../../core/diagnosis/observation.ts';
import { linksOf } from '../../core/diagnosis/provider-forms.ts';
import { type Provider, providerOf } from '../../core/diagnosis/providers.ts';
import { serversShow } from '../../core/diagnosis/shows.ts';
import { windowEnd } from '../../core/life/ladder.ts';
import { summaryLine, summaryOf } from '../../core/life/summary/summary.ts';
import { metadataIn } from '../../core/metadata.ts';
import { toUnicodeName } from '../../core/names/idna.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../../core/names/instructions.ts';
import { splitAtZone } from '../../core/names/zone.ts';
import type { Certificate } from '../../core/records.ts';
import type { DomainDetails } from '../../db/domains/domain-list.ts';
import { observationIn } from '../../db/domains/domain-row.ts';
import { shownIn } from '../../db/domains/served-certificates.ts';
import { type Problem, SUPERSEDED } from '../../db/issuance/issue-work.ts';
import { knownRenewal } from '../../db/issuance/renewals.ts';
import { findingsIn } from '../../events/event-stream.ts';
import { escalationInWords } from './escalation-view.ts';

/** The Domain of docs/integrate/domains.md, from stored data. `windowMs`: verification window. */
export function domainView(domain: DomainDetails, windowMs: number, now: Date) {
  const { hostname, projectId, status } = domain;
  const seen = observationIn(domain.observation?.value);
  const { zone, record } = recordOf(domain, seen);
  const certificate = certificateView(domain, now);
  const provider = seen === null ? null : providerOf(zoneServers(seen));
  const findings = findingsIn(domain.findings);
  const changes = changesFor({
    hostname,
    target: domain.target,
    observation: seen,
    findings,
    status,
  });
  return {
    id: domain.id,
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    projectId,
    status,
    summary: summaryView(
      domain,
      { certificate, provider, changes, view: seen?.view, windowMs },
      now,
    ),
    record,
    zone,
    provider: providerView(provider, zone),
    changes,
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
    metadata: metadataIn(domain.metadata),
    createdAt: domain.addedAt,
  };
}

/** Pending domains have their own check job; later ones are checked in batches. */
function nextCheckOf({
  status,
  nextCheckAt,
  recheckAt,
}: Pick<DomainDetails, 'status' | 'nextCheckAt' | 'recheckAt'>): Date | null {
  return status === 'pending' ? nextCheckAt : recheckAt;
}

function hstsView({ hsts }: DomainDetails) {
  if (hsts === null) return null;
  const { maxAge, includeSubdomains, preload } = hsts; // a row also has the domain's ID
  return { maxAge, includeSubdomains, preload };
}

function providerView(provider: Provider | null, zone: string) {
  return provider === null ? null : { ...provider, ...linksOf(provider, zone) };
}

function summaryView(
  domain: DomainDetails,
  view: {
    readonly certificate: ReturnType<typeof certificateView>;
    readonly provider: Provider | null;
    readonly changes: readonly DnsChange[];
    readonly view: Observation['view'] | undefined;
    readonly windowMs: number;
  },
  now: Date,
) {
  const { hostname, status, lastCheckedAt, verifiedAt, missedAt } = domain;
  const { expiresAt, nextAttemptAt, browser } = view.certificate;
  const problem = view.certificate.problem && {
    ...view.certificate.problem,
    isLasting: isLastingProblem(view.certificate.problem.type),
  };
  // A live domain becomes verified when its certificate expires.
  const isDnsRight = status === 'live' || status === 'verified';
  const hasExpired = isDnsRight && expiresAt === null && hasIssued(domain);
  const summary = summaryOf(
    {
      hostname,
      status,
      findings: findingsIn(domain.findings),
      changes: view.changes,
      ...(view.view !== undefined && { view: view.view }),
      provider: view.provider,
      lastCheckedAt,
      nextCheckAt: nextCheckOf(domain),
      verifiedAt,
      missedAt,
      windowMs: view.windowMs,
      certificate: { expiresAt, hasExpired, nextAttemptAt, problem, served: servedIn(browser) },
      hasEscalation: domain.escalations.length > 0,
      deploy: 'unknown', // not measured yet
    },
    now,
  );
  return { line: summaryLine(summary), ...summary };
}

/** Null if the certificate is served, or nothing says otherwise. */
function servedIn({ state, summary }: BrowserWarning) {
  if (state !== 'other_certificate' && state !== 'not_shown') return null;
  return { isOther: state === 'other_certificate', summary };
}

/** The zone that the last check found, or else the registrable domain. */
function recordOf({ hostname, target }: DomainDetails, seen: Observation | null) {
  const delegation = seen?.delegation ?? null;
  const zone = delegation === null ? undefined : zoneBelow({ hostname, delegation });
  const record = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  return { zone: zone ?? splitAtZone(hostname).zone, record };
}

function observationView(seen: Observation, record: DnsRecord) {
  return { at: seen.at, view: seen.view, servers: serversShow(seen, record) };
}

/** The stored certificate or the order in progress; for the former, only a renewal's error. */
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

function renewalView({ status, renewAt }: DomainDetails, shown: Certificate | undefined) {
  if (status !== 'live' || renewAt === null || shown?.status !== 'issued') return null;
  const { window, explanationUrl } = knownRenewal(shown.renewalInfo);
  return { plannedAt: renewAt, window, explanationUrl };
}

function hasIssued({ certificates }: DomainDetails): boolean {
  return certificates.some(({ status }) => status === 'issued');
}

/** src/core/certificates/served.ts. */
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

/** Browsers do not trust certificates of the local CA. */
function servedTo(issued: Certificate, now: Date) {
  return {
    storedAt: endOf(issued),
    hasEnded: issued.expiresAt === null || issued.expiresAt <= now,
    isTrusted: issued.issuer === null || !isLocalAuthority(issued.issuer),
  };
}

/** The oldest orders have no end time; their start is used. */
function endOf({ endedAt, createdAt }: Certificate): Date {
  return endedAt ?? createdAt;
}

function nextAttemptOf({ status, nextCheckAt, renewAt }: DomainDetails, renewalFailed: boolean) {
  if (status === 'verified') return nextCheckAt;
  return renewalFailed ? renewAt : null;
}

/** Why the CA refused the order. Null if the order ended because its domain was removed or lost. */
function problemOf(certificate: Certificate | undefined) {
  // only written by src/db/issuance/certificates.ts
  const problem = (certificate?.problem ?? null) as Problem | null;
  if (problem === null || problem.type === SUPERSEDED) return null;
  const { type, detail } = problem;
  return { type, detail, ...explainProblem(type) };
}

/** The customer's view. Null if this version does not know the cause. */
function escalationView({ escalations: [open] }: DomainDetails) {
  const words = open && escalationInWords(open, 'customer');
  return words ? { openedAt: open.openedAt, ...words } : null;
}
