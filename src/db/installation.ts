/** The state of the installation in numbers, for its metrics. */

import type { DomainStatus } from '../core/life/lifecycle.ts';
import { type QueueName, queueNames, sweepQueues } from '../core/operations/jobs.ts';
import { servedInSql } from './domains/domain-row.ts';
import { sweeps } from './domains/sweeps.ts';
import { repairKinds } from './domains/waiting.ts';
import { Prisma, type PrismaClient } from './generated/client.ts';

type Numbers = Readonly<Record<string, number>>;

/** A consistent snapshot by the database's clock. */
export type InstallationState = {
  readonly domains: { readonly [S in DomainStatus]: number };
  /** Of the most overdue item; 0 if none is. Deliveries count from when they were queued. */
  readonly overdueSeconds: { readonly [N in QueueName]: number };
  /** 0 if none waits. */
  readonly oldestSeconds: { readonly pending: number; readonly verified: number };
  /** By cause; causes without any are missing. */
  readonly escalationsOpen: Numbers;
  /** By the days left of their newest certificate; each served domain counts once. */
  readonly certificates: { readonly [D in DaysLeft]: number };
  /** Negative if a certificate has expired; null if no domain is served. */
  readonly soonestEndSeconds: number | null;
  /** Currently quarantined, by queue or sweep; those without any are missing. */
  readonly quarantined: Numbers;
  /** By kind. */
  readonly repairs: Numbers;
  /** Since the last run of the reconciler; null if it never ran. */
  readonly turnAgeSeconds: number | null;
  /** Issued within a day, by a CA that is not one of `authorities`. */
  readonly certificatesUnexpected: number;
  /** Of the database server; `max`: for users without special rights. */
  readonly postgresConnections: { readonly used: number; readonly max: number };
};

/** `1`: at most a day left; `7`: more than one and at most seven days; and so on. */
type DaysLeft = 'ended' | '1' | '7' | '30' | 'more';

/** Groups without rows are missing. */
type Read = {
  readonly domains: Partial<InstallationState['domains']> | null;
  readonly late: { readonly [N in QueueName]: number | null };
  readonly oldest: { readonly pending: number | null; readonly verified: number | null };
  readonly escalations: Numbers | null;
  readonly certificates: Partial<InstallationState['certificates']> | null;
  readonly soonest: number | null;
  readonly quarantined: Numbers | null;
  readonly repairs: Numbers | null;
  readonly turn: number | null;
  readonly unexpected: number;
  readonly connections: InstallationState['postgresConnections'];
};

/** Directory URLs of the CAs in use; null is the local CA. */
export type ExpectedAuthorities = readonly (string | null)[];

const lateSweeps = Prisma.raw(
  sweepQueues
    .map((queue) => {
      const { column } = sweeps[queue];
      return `'${queue}', (SELECT extract(epoch FROM now() - min(${column})) FROM domain WHERE ${column} IS NOT NULL)`;
    })
    .join(),
);

/** Reads every domain once: some dozens of milliseconds for 100,000. */
export async function readInstallation(
  prisma: PrismaClient,
  authorities: ExpectedAuthorities,
): Promise<InstallationState> {
  const directories = authorities.filter((one) => one !== null);
  const isLocal = authorities.includes(null);
  const [row] = await prisma.$queryRaw<[{ state: Read }]>`
    WITH attached AS MATERIALIZED (
      SELECT status::text AS status, count(*) AS count, min(next_check_at) AS due, min(escalate_at) AS escalate_at,
        min(pending_since) AS pending_since, min(verified_at) AS verified_at,
        min(certificate_ends_at) FILTER (WHERE status IN (${servedInSql})) AS ends_at,
        count(*) FILTER (WHERE status IN (${servedInSql}) AND certificate_ends_at <= now()) AS ended,
        count(*) FILTER (WHERE status IN (${servedInSql}) AND certificate_ends_at <= now() + interval '1 day') AS day,
        count(*) FILTER (WHERE status IN (${servedInSql}) AND certificate_ends_at <= now() + interval '7 days') AS week,
        count(*) FILTER (WHERE status IN (${servedInSql}) AND certificate_ends_at <= now() + interval '30 days') AS month,
        count(*) FILTER (WHERE status IN (${servedInSql}) AND certificate_ends_at IS NOT NULL) AS served
      FROM domain WHERE removed_at IS NULL GROUP BY status)
    SELECT json_build_object(
      'domains', (SELECT json_object_agg(status, count) FROM attached),
      'late', json_build_object(
        'check-dns', (SELECT extract(epoch FROM now() - due) FROM attached WHERE status = 'pending'),
        'issue-certificate', (SELECT extract(epoch FROM now() - due) FROM attached WHERE status = 'verified'),
        'escalate-certificate', (SELECT extract(epoch FROM now() - escalate_at) FROM attached WHERE status = 'verified'),
        ${lateSweeps},
        'deliver-webhook', (SELECT extract(epoch FROM now() - min(queued_at)) FROM webhook_delivery
          WHERE status = 'pending' AND queued_at IS NOT NULL)),
      'oldest', json_build_object(
        'pending', (SELECT extract(epoch FROM now() - pending_since) FROM attached WHERE status = 'pending'),
        'verified', (SELECT extract(epoch FROM now() - verified_at) FROM attached WHERE status = 'verified')),
      'escalations', (SELECT json_object_agg(cause, count) FROM
        (SELECT cause, count(*) FROM escalation WHERE closed_at IS NULL GROUP BY cause) AS open),
      'certificates', (SELECT json_build_object('ended', sum(ended), '1', sum(day - ended), '7', sum(week - day),
        '30', sum(month - week), 'more', sum(served - month)) FROM attached),
      'soonest', (SELECT extract(epoch FROM min(ends_at) - now()) FROM attached),
      'quarantined', (SELECT json_object_agg(queue, count) FROM
        (SELECT queue, count(*) FROM quarantine WHERE until > now() GROUP BY queue) AS quarantined),
      'repairs', (SELECT json_object_agg(kind, count) FROM repair),
      'unexpected', (SELECT count(*) FROM certificate
        WHERE status = 'issued' AND ended_at > now() - interval '1 day' AND sealed_key IS NOT NULL
          AND NOT CASE WHEN authority IS NULL THEN ${isLocal} ELSE authority = ANY(${directories}) END),
      -- Other users' sessions have no backend_type without pg_read_all_stats; reserved slots are the superuser's.
      'connections', json_build_object('max', current_setting('max_connections')::int
          - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0),
        'used', (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL)),
      'turn', (SELECT extract(epoch FROM now() - taken_at) FROM turn WHERE name = 'reconcile')
    ) AS state`;
  return complete(row.state);
}

function complete(read: Read): InstallationState {
  const { certificates, oldest } = read;
  const none = { pending: 0, verified: 0, live: 0, drifted: 0, failed: 0 };
  const overdue = queueNames.map((queue) => [queue, Math.max(0, read.late[queue] ?? 0)] as const);
  return {
    domains: { ...none, ...read.domains },
    // Exactly the queues.
    overdueSeconds: Object.fromEntries(overdue) as InstallationState['overdueSeconds'],
    oldestSeconds: { pending: oldest.pending ?? 0, verified: oldest.verified ?? 0 },
    escalationsOpen: read.escalations ?? {},
    certificates: {
      ended: certificates?.ended ?? 0,
      '1': certificates?.['1'] ?? 0,
      '7': certificates?.['7'] ?? 0,
      '30': certificates?.['30'] ?? 0,
      more: certificates?.more ?? 0,
    },
    soonestEndSeconds: read.soonest,
    quarantined: read.quarantined ?? {},
    repairs: { ...Object.fromEntries(repairKinds.map((kind) => [kind, 0])), ...read.repairs },
    turnAgeSeconds: read.turn,
    certificatesUnexpected: read.unexpected,
    postgresConnections: read.connections,
  };
}
