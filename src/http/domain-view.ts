/** A domain and its events as the API shows them. */
import { explain } from '../core/diagnosis/explain.ts';
import { type Finding, severities } from '../core/diagnosis/findings.ts';
import { toUnicodeName } from '../core/idna.ts';
import { recordFor, zoneBelow } from '../core/instructions.ts';
import { windowEnd } from '../core/ladder.ts';
import type { Delegation } from '../core/observation.ts';
import { type Problem, SUPERSEDED } from '../db/certificates.ts';
import type { DomainDetails } from '../db/domains.ts';
import type { EventRow } from '../db/events.ts';
import type { Certificate } from '../db/generated/client.ts';

/** The Domain of docs/api.md. */
export function domainView(domain: DomainDetails, windowMs: number, now: Date) {
  const { hostname, projectId, status } = domain;
  return {
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    projectId,
    status,
    record: recordOf(domain),
    findings: findingsOf(domain.findings).map(explain),
    checks: {
      attempts: domain.attempts,
      lastCheckedAt: domain.lastCheckedAt,
      nextCheckAt: status === 'pending' ? domain.nextCheckAt : null,
      windowEndsAt: status === 'pending' ? windowEnd(domain.pendingSince, windowMs) : null,
    },
    verifiedAt: domain.verifiedAt,
    certificate: certificateView(domain, now),
    escalation: escalationView(domain),
    createdAt: domain.addedAt,
  };
}

/** As the last look is judged by it: relative to the zone that this found. */
function recordOf({ hostname, target, observation }: DomainDetails) {
  const delegation = delegationIn(observation);
  const zone = delegation && zoneBelow({ hostname, delegation });
  return recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
}

/** The first observations had no delegation, and a domain that nobody has looked at yet has no observation. */
function delegationIn(stored: unknown): Delegation | undefined {
  if (typeof stored !== 'object' || stored === null || !('delegation' in stored)) return undefined;
  return (stored.delegation as Delegation | null) ?? undefined; // written by src/db/checks.ts and moves.ts only
}

/** The Event of docs/api.md: findings in words, everything else as it was stored. */
export function eventView({ id, type, data, at }: EventRow) {
  if (type !== 'domain.findings_changed') return { id, type, at, data };
  const stored = data as { appeared: unknown; cleared: unknown }; // written by src/core/findings-changed.ts
  const [appeared, cleared] = [stored.appeared, stored.cleared].map((findings) =>
    findingsOf(findings).map(explain),
  );
  return { id, type, at, data: { appeared, cleared } };
}

/** What the domain has, and beside it why the newest order was refused. */
function certificateView({ certificates, status, nextCheckAt }: DomainDetails, now: Date) {
  const shown =
    certificates.find((one) => one.status === 'issued' && one.expiresAt && one.expiresAt > now) ??
    certificates.find((one) => one.status === 'ordering');
  const refused = certificates.find((one) => one.status === 'failed' && problemOf(one) !== null);
  return {
    status: shown?.status ?? refused?.status ?? 'none',
    issuedAt: shown?.issuedAt ?? null,
    expiresAt: shown?.expiresAt ?? null,
    issuer: shown?.issuer ?? null,
    nextAttemptAt: status === 'verified' ? nextCheckAt : null,
    problem: shown?.status === 'issued' ? null : problemOf(refused),
  };
}

/** Null also for an order that ended because its domain was removed: nobody refused it. */
function problemOf(certificate: Certificate | undefined) {
  const problem = (certificate?.problem ?? null) as Problem | null; // written by src/db/certificates.ts only
  if (problem === null || problem.type === SUPERSEDED) return null;
  return { type: problem.type, detail: problem.detail };
}

function escalationView({ escalations: [open] }: DomainDetails) {
  if (open === undefined) return null;
  return { openedAt: open.openedAt, cause: open.cause, nextAction: open.nextAction };
}

/** A process of a newer version beside this one, or one of before a step back, may have found what we cannot word. */
function findingsOf(stored: unknown): readonly Finding[] {
  const findings = stored as readonly Finding[]; // written by us only, always from Finding[]
  return findings.filter(({ code }) => Object.hasOwn(severities, code));
}
