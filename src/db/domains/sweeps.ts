/** Every take is counted until a save: a domain that crashes its worker is taken less often. */

import { type DomainStatus, servedStatuses } from '../../core/life/lifecycle.ts';
import type { SweepQueue } from '../../core/operations/jobs.ts';
import { quarantine } from '../../core/operations/quarantine.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { statusList } from './domain-row.ts';

export type Lease = {
  readonly now: Date;
  /** For the first take, the next take without a save, and so on; the last value repeats. */
  readonly leasesMs: readonly number[];
};

export type Taking = Lease & {
  readonly limit: number;
  /** True: only domains taken so often without a save that they can crash their worker. */
  readonly suspects: boolean;
};

/** `takes`: in a row without a save, including this time. */
export type TakenDomain = { readonly id: string; readonly takes: number };

/** Shared by all processes. */
export type DueDomains = {
  /** The longest overdue; no two callers get the same. Records suspects in `quarantine`. */
  take(taking: Taking): Promise<readonly TakenDomain[]>;
  /** For a domain that was processed without a fault, saved or not. */
  settle(id: string, lease: Lease): Promise<void>;
  /** For unprocessed domains. If it rejects, this object's next `take` repeats it first. */
  giveBack(taken: readonly string[], lease: Lease): Promise<void>;
  /** Of a suspect's record; does nothing without one. */
  noteReason(id: string, reason: string): Promise<void>;
};

/** A drifted domain is not renewed until its DNS is correct; its certificate still expires. */
export const sweeps = {
  'recheck-live': {
    queue: 'recheck-live',
    field: 'recheckAt',
    column: 'recheck_at',
    statuses: [...servedStatuses, 'failed'],
  },
  'renew-certificate': {
    queue: 'renew-certificate',
    field: 'renewAt',
    column: 'renew_at',
    statuses: ['live'],
  },
  'escalate-renewals': {
    queue: 'renew-certificate',
    field: 'escalateAt',
    column: 'escalate_at',
    statuses: servedStatuses,
  },
  'ask-renewals': {
    queue: 'renew-certificate',
    field: 'renewalInfoAt',
    column: 'renewal_info_at',
    statuses: ['live'],
  },
} as const satisfies Readonly<Record<string, SweepRow>>;

type SweepRow = {
  /** Its job runs the sweep; several share one. */
  readonly queue: SweepQueue;
  readonly field: keyof Prisma.DomainUpdateInput;
  readonly column: string;
  readonly statuses: readonly DomainStatus[];
};

function rawOf(sweep: SweepName) {
  const { column, statuses } = sweeps[sweep];
  return { column: Prisma.raw(column), statuses: Prisma.raw(statusList(statuses)) };
}

export type SweepName = keyof typeof sweeps;
export const sweepNames = Object.keys(sweeps) as readonly SweepName[];
export type DueBySweep = { readonly [S in SweepName]: DueDomains };

export function createDueBySweep(prisma: PrismaClient): DueBySweep {
  const all = sweepNames.map((name) => [name, createDueDomains(prisma, name)] as const);
  return Object.fromEntries(all) as DueBySweep; // exactly the names of `sweeps`
}

/** One per sweep and process: it remembers what it could not release. */
export function createDueDomains(prisma: PrismaClient, sweep: SweepName): DueDomains {
  let owed: readonly string[] = [];
  async function payBack({ now, leasesMs: [usualMs = 0] }: Lease): Promise<void> {
    if (owed.length === 0) return;
    await untake(prisma, sweep, owed, new Date(now.getTime() + usualMs));
    owed = [];
  }
  return {
    async take(taking) {
      await payBack(taking);
      return take(prisma, sweep, taking);
    },
    settle: (id, { now, leasesMs: [usualMs = 0] }) =>
      settle(prisma, sweep, id, new Date(now.getTime() + usualMs)),
    async giveBack(taken, lease) {
      owed = [...owed, ...taken];
      await payBack(lease);
    },
    async noteReason(jobId, reason) {
      await prisma.quarantine.updateMany({ where: { queue: sweep, jobId }, data: { reason } });
    },
  };
}

const reason = 'taken repeatedly without a save: its worker crashed each time';

/**
 * The lease is the row's own due time, moved ahead: after a crash the row is due again. All sweeps
 * share one count, which any save resets, so suspects have their own in the quarantine record.
 */
function take(
  prisma: PrismaClient,
  sweep: SweepName,
  { now, leasesMs, limit, suspects }: Taking,
): Promise<readonly TakenDomain[]> {
  const { column, statuses } = rawOf(sweep);
  const most = quarantine.takesSuspicious;
  return prisma.$queryRaw<TakenDomain[]>`
    WITH due AS MATERIALIZED (
      SELECT domain.id, GREATEST(leases + 1, note.times + ${most}::int) AS takes
      FROM domain LEFT JOIN quarantine AS note ON note.queue = ${sweep} AND note.job_id = domain.id::text
      WHERE ${column} <= ${now} AND status IN (${statuses}) AND removed_at IS NULL
        AND (leases + 1 >= ${most}::int OR note.times IS NOT NULL) = ${suspects}
      ORDER BY ${column} LIMIT ${limit} FOR UPDATE OF domain SKIP LOCKED
    ), taken AS (
      UPDATE domain SET leases = leases + 1, ${column} = ${now}::timestamptz + make_interval(
        secs => (${leasesMs}::float8[])[LEAST(takes, ${leasesMs.length}::int)] / 1000)
      FROM due WHERE domain.id = due.id
      RETURNING domain.id, takes, ${column} AS until
    ), noted AS (
      INSERT INTO quarantine (queue, job_id, domain_id, reason, times, since, until)
      SELECT ${sweep}, id::text, id, ${reason}, takes - ${most}::int + 1, ${now}::timestamptz, until
      FROM taken WHERE takes >= ${most}::int
      ON CONFLICT (queue, job_id) DO UPDATE SET
        times = EXCLUDED.times, since = EXCLUDED.since, until = EXCLUDED.until
    )
    SELECT id::text, takes FROM taken`;
}

/** A save has set the next time; otherwise a suspect's long lease ends here. */
async function settle(prisma: PrismaClient, sweep: SweepName, id: string, until: Date) {
  const { column } = rawOf(sweep);
  await prisma.$executeRaw`
    WITH well AS (
      UPDATE domain SET leases = 0, ${column} = LEAST(${column}, ${until})
      WHERE id = ${id}::uuid AND leases > 0)
    DELETE FROM quarantine WHERE queue = ${sweep} AND job_id = ${id}`;
}

async function untake(prisma: PrismaClient, sweep: SweepName, ids: readonly string[], until: Date) {
  const { column } = rawOf(sweep);
  await prisma.$executeRaw`
    WITH given AS (
      SELECT id FROM domain WHERE id = ANY(${ids}::uuid[]) AND leases > 0 ORDER BY id FOR NO KEY UPDATE
    ), untaken AS (
      UPDATE domain SET leases = leases - 1, ${column} = LEAST(${column}, ${until})
      FROM given WHERE domain.id = given.id
    ), counted AS (
      UPDATE quarantine SET times = times - 1
      WHERE queue = ${sweep} AND job_id = ANY(${ids}::text[]) AND times > 1
    )
    DELETE FROM quarantine WHERE queue = ${sweep} AND job_id = ANY(${ids}::text[]) AND times <= 1`;
}
