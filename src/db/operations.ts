/**
 * What an operator sees beyond the numbers of src/db/installation.ts: which domains wait or fail, which certificates expire
 * soonest, and what happened lately. Every list is limited, and so is what every statement reads.
 */

import type {
  GrantedDomainId,
  GrantedProjectId,
  InstallationAccess,
} from '../core/accounts/access.ts';
import type { DomainStatus } from '../core/life/lifecycle.ts';
import type { Quarantine } from '../core/records.ts';
import { DAY } from '../core/time.ts';
import { schedule } from './domains/commit.ts';
import { type DomainDetails, detailsIn } from './domains/domains.ts';
import type { Sweep } from './domains/sweeps.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** A domain in a list: enough to find it. */
type Listed = { readonly id: string; readonly hostname: string; readonly projectId: string };

/** A domain that is `pending` or `verified`: it waits for its DNS, or for its certificate. */
export type WaitingDomain = Listed & {
  readonly status: DomainStatus;
  /** Since when it waits for its DNS, or for its certificate. */
  readonly since: Date;
  /** When its job is due; null where none is planned. */
  readonly nextCheckAt: Date | null;
};

/** A domain that is served, and when its newest certificate expires; in the past where that has expired. */
export type EndingDomain = Listed & { readonly endsAt: Date };

/** A job, or a domain of a sweep, that is set aside at the moment. */
export type AsideJob = {
  /** The name of its queue or sweep. */
  readonly queue: string;
  /** Null where the job is no domain's. */
  readonly domainId: string | null;
  /** Null where the job is no domain's. */
  readonly hostname: string | null;
  /** In one line, without secrets. */
  readonly reason: string;
  /** How often in a row it was set aside. */
  readonly times: number;
  /** When it was set aside for the last time. */
  readonly since: Date;
  /** The end of its time; later than the time of reading. */
  readonly until: Date;
};

/**
 * A domain with the finding `dns_unknown`, and its name servers as its parent zone lists them: empty where our resolvers did
 * not lead to them, or where it is our own target that could not be resolved.
 */
export type UntoldDomain = { readonly hostname: string; readonly servers: readonly string[] };

/** How many events of a type there were in the hour that begins at `hour`. */
export type HourlyEvents = { readonly hour: Date; readonly type: string; readonly count: number };

/** The events of the last 24 hours, counted; fewer hours where there were more than about 128,000 events. */
export type RecentEvents = {
  /** From this time on every event is counted. */
  readonly since: Date;
  /** The oldest hour first; a type that did not occur in an hour is missing from it. */
  readonly hours: readonly HourlyEvents[];
};

/** What an operator's overview shows. Read by several statements, so not all of it is of one moment. */
export type OperationsReads = {
  /** By finding code, the most frequent first; codes that no attached domain has are missing. */
  readonly findings: readonly { readonly code: string; readonly domains: number }[];
  /** The longest wait first, 10 at most. */
  readonly waiting: readonly WaitingDomain[];
  /** Of the domains that are served, the certificate that expires first comes first; 10 at most. */
  readonly ending: readonly EndingDomain[];
  /** The newest first, 20 at most. */
  readonly setAside: readonly AsideJob[];
  /** In no order, 2,000 at most. */
  readonly untold: readonly UntoldDomain[];
  readonly recent: RecentEvents;
  /** What the reconciler has put right since the installation began; kinds that never occurred are missing. */
  readonly repairs: readonly {
    readonly kind: string;
    readonly count: bigint;
    readonly lastAt: Date;
  }[];
  /** When each task that one process does for all was last begun (`WaitingStore.takeTurn`), by name. */
  readonly turns: readonly { readonly name: string; readonly takenAt: Date }[];
};

const LISTED = 10;
const ASIDE_LISTED = 20;
/** Domains whose name servers are counted: enough to see whose they are. */
const UNTOLD_MAX = 2_000;

/**
 * Reads the overview as of `now`. Its statements run one after the other: embedded storage has one session, and nobody waits
 * for milliseconds here. Rejects where one of them fails.
 */
export async function readOperations(prisma: PrismaClient, now: Date): Promise<OperationsReads> {
  const findings = await countFindings(prisma);
  const waiting = await longestWaiting(prisma);
  const ending = await endingSoonest(prisma);
  const setAside = await newestAside(prisma, now);
  const untold = await untoldDomains(prisma);
  const recent = await recentEvents(prisma, now);
  const repairs = await prisma.repair.findMany({ orderBy: { kind: 'asc' } });
  const turns = await prisma.turn.findMany({ orderBy: { name: 'asc' } });
  return { findings, waiting, ending, setAside, untold, recent, repairs, turns };
}

/** Reads every attached domain once. */
function countFindings(prisma: PrismaClient): Promise<OperationsReads['findings']> {
  return prisma.$queryRaw`
    SELECT finding->>'code' AS code, count(*)::int AS domains
    FROM domain, jsonb_array_elements(findings) AS finding
    WHERE removed_at IS NULL AND findings <> '[]' GROUP BY 1 ORDER BY 2 DESC, 1`;
}

function longestWaiting(prisma: PrismaClient): Promise<WaitingDomain[]> {
  return prisma.$queryRaw`
    SELECT id::text, hostname, project_id::text AS "projectId", status::text,
      CASE status WHEN 'pending' THEN pending_since ELSE coalesce(verified_at, pending_since) END AS since,
      next_check_at AS "nextCheckAt"
    FROM domain WHERE removed_at IS NULL AND status IN ('pending', 'verified')
    ORDER BY since, id LIMIT ${LISTED}`;
}

function endingSoonest(prisma: PrismaClient): Promise<EndingDomain[]> {
  return prisma.$queryRaw`
    SELECT id::text, hostname, project_id::text AS "projectId", certificate_ends_at AS "endsAt"
    FROM domain WHERE removed_at IS NULL AND status IN ('live', 'drifted') AND certificate_ends_at IS NOT NULL
    ORDER BY certificate_ends_at, id LIMIT ${LISTED}`;
}

function newestAside(prisma: PrismaClient, now: Date): Promise<AsideJob[]> {
  return prisma.$queryRaw`
    SELECT queue, domain_id::text AS "domainId", hostname, reason, times, since, until
    FROM quarantine LEFT JOIN domain ON domain.id = domain_id
    WHERE until > ${now}::timestamptz ORDER BY since DESC, queue, job_id LIMIT ${ASIDE_LISTED}`;
}

function untoldDomains(prisma: PrismaClient): Promise<UntoldDomain[]> {
  return prisma.$queryRaw`
    SELECT hostname,
      CASE WHEN jsonb_path_exists(findings, '$[*] ? (@.code == "dns_unknown" && @.servers.size() == 0)') THEN '[]'
      ELSE coalesce(value->'delegation'->'atParent', '[]') END AS servers
    FROM domain LEFT JOIN observation ON domain_id = domain.id
    WHERE removed_at IS NULL AND findings @> '[{"code":"dns_unknown"}]'
    LIMIT ${UNTOLD_MAX}`;
}

/**
 * The events of the last 24 hours by hour and type, at most about 128,000 of them. There is no index on their time: the
 * newest are found by their ids, going back in steps that double until one is old enough.
 */
async function recentEvents(prisma: PrismaClient, now: Date): Promise<RecentEvents> {
  const since = new Date(now.getTime() - DAY);
  const [back] = await prisma.$queryRaw<{ id: bigint; at: Date }[]>`
    WITH RECURSIVE back AS (
      (SELECT id, at, 1000::bigint AS step FROM event ORDER BY id DESC LIMIT 1)
      UNION ALL
      SELECT older.id, older.at, step * 2 FROM back, LATERAL (
        SELECT id, at FROM event WHERE id <= back.id - step ORDER BY id DESC LIMIT 1) AS older
      WHERE back.at >= ${since}::timestamptz AND step < 128000
    ), least AS (SELECT min(id) AS id FROM event)
    SELECT CASE WHEN back.at < ${since}::timestamptz OR step >= 128000 THEN back.id ELSE least.id END AS id,
      CASE WHEN back.at >= ${since}::timestamptz AND step >= 128000 THEN back.at ELSE ${since}::timestamptz END AS at
    FROM back, least ORDER BY step DESC LIMIT 1`;
  if (back === undefined) return { since, hours: [] };
  const hours = await prisma.$queryRaw<HourlyEvents[]>`
    SELECT date_trunc('hour', at) AS hour, type, count(*)::int AS count
    FROM event WHERE id >= ${back.id} AND at >= ${back.at}::timestamptz GROUP BY 1, 2 ORDER BY 1, 2`;
  return { since: back.at, hours };
}

/** A domain that a search found, and its project. */
export type FoundDomain = {
  readonly id: string;
  readonly hostname: string;
  readonly status: DomainStatus;
  /** Null where it is attached. */
  readonly removedAt: Date | null;
  readonly projectId: string;
  readonly projectName: string;
};

/** A domain with all its details and the name of its project, as only operators get it. */
export type WatchedDomain = DomainDetails & {
  readonly id: GrantedDomainId;
  readonly projectId: GrantedProjectId;
  readonly project: { readonly name: string };
};

/**
 * Finds domains, removed ones included, whose host name contains `part`, `limit` at most. An exact match comes first, then
 * attached domains, then removed ones, each by host name. Reads every host name: no index covers parts of names.
 */
export function searchDomains(
  prisma: PrismaClient,
  _access: InstallationAccess,
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

/**
 * Finds a domain by its id, also a removed one, which is as it was; null where there is none. In steps, as it may be asked
 * within a transaction.
 */
export async function findWatchedDomain(
  prisma: PrismaClient,
  _access: InstallationAccess,
  id: string,
): Promise<WatchedDomain | null> {
  const include = { project: { select: { name: true } } } as const;
  const found = await prisma.domain.findUnique({ where: { id }, include });
  if (found === null) return null;
  return {
    ...found,
    ...(await detailsIn(prisma, id)),
    id: found.id as GrantedDomainId,
    projectId: found.projectId as GrantedProjectId,
  };
}

/** The notes of a domain's jobs that were set aside and have not succeeded since, also where their time is over. */
export function loadNotes(prisma: PrismaClient, domainId: GrantedDomainId): Promise<Quarantine[]> {
  return prisma.quarantine.findMany({ where: { domainId }, orderBy: { queue: 'asc' } });
}

/** The column that says when a sweep takes a domain. */
const columns = {
  'recheck-live': 'recheckAt',
  'renew-certificate': 'renewAt',
  'escalate-renewals': 'escalateAt',
  'ask-renewals': 'renewalInfoAt',
} as const satisfies Readonly<Record<Sweep, keyof Prisma.DomainUpdateInput>>;

const served = ['live', 'drifted'] as const;
/** The statuses that each sweep takes, as in src/db/domains/sweeps.ts. */
const statuses = {
  'recheck-live': [...served, 'failed'],
  'renew-certificate': ['live'],
  'escalate-renewals': served,
  'ask-renewals': ['live'],
} as const satisfies Readonly<Record<Sweep, readonly DomainStatus[]>>;

/** When a sweep takes the domain next; null where it is removed, has no time, or has a status that the sweep skips. */
export function dueForSweep(
  domain: Pick<DomainDetails, 'status' | 'removedAt' | (typeof columns)[Sweep]>,
  sweep: Sweep,
): Date | null {
  const takes: readonly DomainStatus[] = statuses[sweep];
  return domain.removedAt === null && takes.includes(domain.status) ? domain[columns[sweep]] : null;
}

/**
 * Has a sweep take the domain in its next turn after `at`, also where it was set aside. Moves no time where the domain was
 * removed, is in another epoch by now, or is in a status that the sweep passes over.
 */
export async function bringToSweep(
  prisma: PrismaClient,
  { id, epoch }: Pick<DomainDetails, 'id' | 'epoch'>,
  sweep: Sweep,
  at: Date,
): Promise<void> {
  const where = { id, epoch, status: { in: [...statuses[sweep]] } };
  await schedule(prisma, where, { [columns[sweep]]: at });
  await prisma.quarantine.updateMany({
    where: { queue: sweep, jobId: id, until: { gt: at } },
    data: { until: at },
  });
}
