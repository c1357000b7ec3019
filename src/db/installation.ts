/** The state of the installation in numbers, for its metrics. */

import type { DomainStatus } from '../core/life/lifecycle.ts';
import { type QueueName, type SweepQueue, sweepQueues } from '../core/operations/jobs.ts';
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

/** Directory URLs of the CAs in use; null is the local CA. */
export type ExpectedAuthorities = readonly (string | null)[];

/** Seconds since the time that the query returns; 0 if there is none, or it is still to come. */
function overdue(query: string): string {
  return `greatest(0, coalesce(extract(epoch FROM now() - (${query})), 0))`;
}

const lateSweeps = sweepQueues.map((queue) => {
  const { column } = sweeps[queue];
  return [queue, `SELECT min(${column}) FROM domain WHERE ${column} IS NOT NULL`] as const;
});

/** When the most overdue item was due. */
const dueAt = {
  'check-dns': `SELECT due FROM attached WHERE status = 'pending'`,
  'issue-certificate': `SELECT due FROM attached WHERE status = 'verified'`,
  'escalate-certificate': `SELECT escalate_at FROM attached WHERE status = 'verified'`,
  ...(Object.fromEntries(lateSweeps) as Record<SweepQueue, string>), // exactly these queues
  'deliver-webhook': `SELECT min(queued_at) FROM webhook_delivery
    WHERE status = 'pending' AND queued_at IS NOT NULL`,
} satisfies Record<QueueName, string>;

const since = {
  pending: `SELECT pending_since FROM attached WHERE status = 'pending'`,
  verified: `SELECT verified_at FROM attached WHERE status = 'verified'`,
};

function secondsSince(queries: Readonly<Record<string, string>>): Prisma.Sql {
  const fields = Object.entries(queries).map(([name, query]) => `'${name}', ${overdue(query)}`);
  return Prisma.raw(`json_build_object(${fields.join()})`);
}

/** Reads every domain once: some dozens of milliseconds for 100,000. */
export async function readInstallation(
  prisma: PrismaClient,
  authorities: ExpectedAuthorities,
): Promise<InstallationState> {
  const directories = authorities.filter((one) => one !== null);
  const isLocal = authorities.includes(null);
  const [row] = await prisma.$queryRaw<[{ state: InstallationState }]>`
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
      'overdueSeconds', ${secondsSince(dueAt)},
      'oldestSeconds', ${secondsSince(since)},
      'escalationsOpen', (SELECT coalesce(json_object_agg(cause, count), '{}') FROM
        (SELECT cause, count(*) FROM escalation WHERE closed_at IS NULL GROUP BY cause) AS open),
      'certificates', (SELECT json_build_object('ended', coalesce(sum(ended), 0), '1', coalesce(sum(day - ended), 0),
        '7', coalesce(sum(week - day), 0), '30', coalesce(sum(month - week), 0), 'more', coalesce(sum(served - month), 0))
        FROM attached),
      'soonestEndSeconds', (SELECT extract(epoch FROM min(ends_at) - now()) FROM attached),
      'quarantined', (SELECT coalesce(json_object_agg(queue, count), '{}') FROM
        (SELECT queue, count(*) FROM quarantine WHERE until > now() GROUP BY queue) AS quarantined),
      'repairs', (SELECT json_object_agg(kind, count) FROM repair),
      'certificatesUnexpected', (SELECT count(*) FROM certificate
        WHERE status = 'issued' AND ended_at > now() - interval '1 day' AND sealed_key IS NOT NULL
          AND NOT CASE WHEN authority IS NULL THEN ${isLocal} ELSE authority = ANY(${directories}) END),
      -- Other users' sessions have no backend_type without pg_read_all_stats; reserved slots are the superuser's.
      'postgresConnections', json_build_object('max', current_setting('max_connections')::int
          - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0),
        'used', (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL)),
      'turnAgeSeconds', (SELECT extract(epoch FROM now() - taken_at) FROM turn WHERE name = 'reconcile')
    ) AS state`;
  const noDomains = { pending: 0, verified: 0, live: 0, drifted: 0, failed: 0 };
  const noRepairs = Object.fromEntries(repairKinds.map((kind) => [kind, 0]));
  const { domains, repairs } = row.state;
  return {
    ...row.state,
    domains: { ...noDomains, ...domains },
    repairs: { ...noRepairs, ...repairs },
  };
}
