/** The operator's overview. All lists and reads are limited. */

import type { Installation } from '../core/access.ts';
import { actorOf, type Finding, isOurTrouble } from '../core/diagnosis/findings.ts';
import type { DomainStatus } from '../core/life/lifecycle.ts';
import type { DomainRecord, Quarantine } from '../core/records.ts';
import { DAY } from '../core/time.ts';
import { schedule } from './domains/commit.ts';
import { type DomainDetails, findDetails } from './domains/domain-list.ts';
import { servedInSql } from './domains/domain-row.ts';
import { type SweepName, sweeps } from './domains/sweeps.ts';
import type { PrismaClient } from './generated/client.ts';

type ListedDomain = Pick<DomainRecord, 'id' | 'hostname' | 'projectId'>;

/** With `dns_unknown`. `servers` is empty if the cause is ours. */
export type DnsUnknownDomain = { readonly hostname: string; readonly servers: readonly string[] };

/** In the hour that starts at `hour`. */
export type HourlyEvents = { readonly hour: Date; readonly type: string; readonly count: number };

const LISTED = 10;
const QUARANTINED_LISTED = 20;
/** Enough domains to identify their DNS operators. */
const DNS_UNKNOWN_MAX = 2_000;

/** Statements run one by one, since embedded storage has one session: not a consistent snapshot. */
export async function readOperations(prisma: PrismaClient, _operator: Installation, now: Date) {
  return {
    findings: await countFindings(prisma),
    waiting: await longestWaiting(prisma),
    ending: await endingSoonest(prisma),
    quarantined: await newestQuarantined(prisma, now),
    dnsUnknown: await loadDnsUnknown(prisma),
    recent: await recentEvents(prisma, now),
    /** Since the installation's start. */
    repairs: await prisma.repair.findMany({ orderBy: { kind: 'asc' } }),
    /** The tasks of `WaitingStore.takeTurn`. */
    turns: await prisma.turn.findMany({ orderBy: { name: 'asc' } }),
  };
}

/** Most frequent first. */
function countFindings(prisma: PrismaClient) {
  return prisma.$queryRaw<readonly { readonly code: string; readonly domains: number }[]>`
    SELECT finding->>'code' AS code, count(*)::int AS domains
    FROM domain, jsonb_array_elements(findings) AS finding
    WHERE removed_at IS NULL AND findings <> '[]' GROUP BY 1 ORDER BY 2 DESC, 1`;
}

type WaitingDomain = ListedDomain &
  Pick<DomainRecord, 'status' | 'nextCheckAt'> & { readonly since: Date };

/** Pending and verified domains, the longest wait first. */
function longestWaiting(prisma: PrismaClient) {
  return prisma.$queryRaw<readonly WaitingDomain[]>`
    SELECT id::text, hostname, project_id::text AS "projectId", status::text,
      CASE status WHEN 'pending' THEN pending_since ELSE coalesce(verified_at, pending_since) END AS since,
      next_check_at AS "nextCheckAt"
    FROM domain WHERE removed_at IS NULL AND status IN ('pending', 'verified')
    ORDER BY since, id LIMIT ${LISTED}`;
}

/** Served domains, the first to expire first. */
function endingSoonest(prisma: PrismaClient) {
  return prisma.$queryRaw<readonly (ListedDomain & { readonly endsAt: Date })[]>`
    SELECT id::text, hostname, project_id::text AS "projectId", certificate_ends_at AS "endsAt"
    FROM domain WHERE removed_at IS NULL AND status IN (${servedInSql}) AND certificate_ends_at IS NOT NULL
    ORDER BY certificate_ends_at, id LIMIT ${LISTED}`;
}

/** A quarantined job, or a quarantined domain of a sweep. */
type QuarantinedJob = Omit<Quarantine, 'jobId'> & { readonly hostname: string | null };

/** Newest first. */
function newestQuarantined(prisma: PrismaClient, now: Date) {
  return prisma.$queryRaw<readonly QuarantinedJob[]>`
    SELECT queue, domain_id::text AS "domainId", hostname, reason, times, since, until
    FROM quarantine LEFT JOIN domain ON domain.id = domain_id
    WHERE until > ${now}::timestamptz ORDER BY since DESC, queue, job_id LIMIT ${QUARANTINED_LISTED}`;
}

/** In no order. */
async function loadDnsUnknown(prisma: PrismaClient): Promise<DnsUnknownDomain[]> {
  const found = await prisma.$queryRaw<
    { hostname: string; findings: Finding[]; servers: string[] }[]
  >`
    SELECT hostname, findings, coalesce(value->'delegation'->'atParent', '[]') AS servers
    FROM domain LEFT JOIN observation ON domain_id = domain.id
    WHERE removed_at IS NULL AND findings @> '[{"code":"dns_unknown"}]'
    LIMIT ${DNS_UNKNOWN_MAX}`;
  return found.flatMap(({ hostname, findings, servers }) => {
    if (findings.some(isOurTrouble)) return [{ hostname, servers: [] }];
    const isTheirs = findings.some(
      (one) => one.code === 'dns_unknown' && actorOf(one) !== 'platform',
    );
    return isTheirs ? [{ hostname, servers }] : []; // our own limit on queries
  });
}

/**
 * Of the last 24 hours, or fewer if there were more than about 128,000 events; oldest hour first, without types that
 * have none. Time has no index: finds the newest by id, going back in doubling steps.
 */
async function recentEvents(prisma: PrismaClient, now: Date) {
  const since = new Date(now.getTime() - DAY);
  const [back] = await prisma.$queryRaw<{ id: bigint; at: Date }[]>`
    WITH RECURSIVE back AS (
      (SELECT id, at, 1000::bigint AS step FROM recorded_event ORDER BY id DESC LIMIT 1)
      UNION ALL
      SELECT older.id, older.at, step * 2 FROM back, LATERAL (
        SELECT id, at FROM recorded_event WHERE id <= back.id - step ORDER BY id DESC LIMIT 1) AS older
      WHERE back.at >= ${since}::timestamptz AND step < 128000
    ), least AS (SELECT min(id) AS id FROM recorded_event)
    SELECT CASE WHEN back.at < ${since}::timestamptz OR step >= 128000 THEN back.id ELSE least.id END AS id,
      CASE WHEN back.at >= ${since}::timestamptz AND step >= 128000 THEN back.at ELSE ${since}::timestamptz END AS at
    FROM back, least ORDER BY step DESC LIMIT 1`;
  if (back === undefined) return { since, hours: [] };
  const hours = await prisma.$queryRaw<HourlyEvents[]>`
    SELECT date_trunc('hour', at) AS hour, type, count(*)::int AS count
    FROM recorded_event WHERE id >= ${back.id} AND at >= ${back.at}::timestamptz GROUP BY 1, 2 ORDER BY 1, 2`;
  return { since: back.at, hours };
}

export type FoundDomain = ListedDomain &
  Pick<DomainRecord, 'status' | 'removedAt'> & { readonly projectName: string };

export type OperationsDomain = DomainDetails & { readonly project: { readonly name: string } };

/** Exact matches first, removed domains last. Reads every name: no index covers substrings. */
export function findDomains(
  prisma: PrismaClient,
  _operator: Installation,
  part: string,
  limit: number,
): Promise<FoundDomain[]> {
  return prisma.$queryRaw`
    SELECT domain.id::text, hostname, domain.status::text, removed_at AS "removedAt",
      project_id::text AS "projectId", name AS "projectName"
    FROM domain JOIN project ON project.id = project_id
    WHERE position(${part} IN hostname) > 0
    ORDER BY hostname = ${part} DESC, removed_at IS NULL DESC, hostname, domain.id LIMIT ${limit}`;
}

/** Finds removed domains, too. */
export async function findWatchedDomain(
  prisma: PrismaClient,
  _operator: Installation,
  id: string,
): Promise<OperationsDomain | null> {
  const found = await findDetails(prisma, { id });
  if (found === null) return null;
  const where = { id: found.projectId };
  const project = await prisma.project.findUniqueOrThrow({ where, select: { name: true } });
  return { ...found, project };
}

/** Of jobs that have not succeeded since, including ended records. */
export function loadNotes(
  prisma: PrismaClient,
  _operator: Installation,
  domainId: string,
): Promise<Quarantine[]> {
  return prisma.quarantine.findMany({ where: { domainId }, orderBy: { queue: 'asc' } });
}

/** Null if it is removed or has a status that the sweep skips. */
export function dueForSweep(
  domain: Pick<DomainDetails, 'status' | 'removedAt' | (typeof sweeps)[SweepName]['field']>,
  sweep: SweepName,
): Date | null {
  const { field } = sweeps[sweep];
  const statuses: readonly DomainStatus[] = sweeps[sweep].statuses;
  return domain.removedAt === null && statuses.includes(domain.status) ? domain[field] : null;
}

/** Even if quarantined. Does nothing for another epoch or a status that the sweep skips. */
export async function bringToSweep(
  prisma: PrismaClient,
  _operator: Installation,
  { id, epoch }: Pick<DomainDetails, 'id' | 'epoch'>,
  sweep: SweepName,
  at: Date,
): Promise<void> {
  const where = { id, epoch, status: { in: [...sweeps[sweep].statuses] } };
  await schedule(prisma, where, { [sweeps[sweep].field]: at });
  await prisma.quarantine.updateMany({
    where: { queue: sweep, jobId: id, until: { gt: at } },
    data: { until: at },
  });
}
