/** A domain and its events as the API shows them. */
import { explain } from '../core/diagnosis/explain.ts';
import type { Finding } from '../core/diagnosis/findings.ts';
import { toUnicodeName } from '../core/idna.ts';
import { recordFor } from '../core/instructions.ts';
import { windowEnd } from '../core/ladder.ts';
import { type Problem, SUPERSEDED } from '../db/certificates.ts';
import type { DomainDetails } from '../db/domains.ts';
import type { EventRow } from '../db/events.ts';
import type { Certificate } from '../db/generated/client.ts';

/** The Domain of docs/api.md. */
export function domainView(domain: DomainDetails, windowMs: number, now: Date) {
  const { hostname, projectId, target, status } = domain;
  return {
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    projectId,
    status,
    record: recordFor({ hostname, target }),
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

/** The Event of docs/api.md: findings in words, everything else as it was stored. */
export function eventView({ id, type, data, at }: EventRow) {
  if (type !== 'domain.findings_changed') return { id, type, at, data };
  const { appeared, cleared } = data as { appeared: Finding[]; cleared: Finding[] }; // written by src/core/check.ts
  return { id, type, at, data: { appeared: appeared.map(explain), cleared: cleared.map(explain) } };
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

function findingsOf(stored: unknown): readonly Finding[] {
  return stored as readonly Finding[]; // written by us only, always from Finding[]
}
