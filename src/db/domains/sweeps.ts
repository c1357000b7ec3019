/**
 * What the sweeps take from the database: due domains that wait for nothing, a batch at a time. Every take is counted until
 * something is saved, so that a domain that kills its worker, or meets a fault each time, is taken less and less often.
 */

import type { SweepQueue } from '../../core/operations/jobs.ts';
import { quarantine } from '../../core/operations/quarantine.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';

/** How long a domain that is taken stays out of the reach of other takers. */
export type Lease = {
  readonly now: Date;
  /** In ms: the first for a first take, the second for another one without a save between, the last for all further ones. */
  readonly leasesMs: readonly number[];
};

/** What to take from a sweep's due domains. */
export type Taking = Lease & {
  /** The largest batch. */
  readonly limit: number;
  /** True: only those that were taken so often without a save that they may kill their worker. False: only the others. */
  readonly suspects: boolean;
};

/** A domain that was taken. `takes`: how often in a row without a save, this time included. */
export type Taken = { readonly id: string; readonly takes: number };

/** The due domains of one sweep, which all processes share. */
export type DueDomains = {
  /** Takes those that are due for longest; no two callers get the same. Notes a suspect in `quarantine` for operators. */
  take(taking: Taking): Promise<readonly Taken[]>;
  /** Resets the count of a domain that was worked on without a fault, whether there was something to save or not. */
  settle(id: string, lease: Lease): Promise<void>;
  /** Undoes the take of domains that were not worked on. Where it rejects, the next `take` of this object does it first. */
  giveBack(taken: readonly string[], lease: Lease): Promise<void>;
  /** Replaces the reason in a suspect's note; does nothing where there is no note. */
  noteReason(id: string, reason: string): Promise<void>;
};

/** A drifted domain is not renewed until its DNS is right again; its certificate expires all the same. */
const sweeps = {
  'recheck-live': {
    column: Prisma.raw('recheck_at'),
    statuses: Prisma.raw("'live', 'drifted', 'failed'"),
  },
  'renew-certificate': { column: Prisma.raw('renew_at'), statuses: Prisma.raw("'live'") },
  'escalate-renewals': {
    column: Prisma.raw('escalate_at'),
    statuses: Prisma.raw("'live', 'drifted'"),
  },
  'ask-renewals': { column: Prisma.raw('renewal_info_at'), statuses: Prisma.raw("'live'") },
} as const satisfies Readonly<Record<SweepQueue | 'escalate-renewals' | 'ask-renewals', unknown>>;

/** The sweeps with a job of their own, and the two that follow upon the renewals in theirs. */
export type Sweep = keyof typeof sweeps;

/** Make one for each sweep and process: it remembers what it could not give back. */
export function createDueDomains(prisma: PrismaClient, queue: Sweep): DueDomains {
  let owed: readonly string[] = [];
  async function payBack({ now, leasesMs: [usualMs = 0] }: Lease): Promise<void> {
    if (owed.length === 0) return;
    await untake(prisma, queue, owed, new Date(now.getTime() + usualMs));
    owed = [];
  }
  return {
    async take(taking) {
      await payBack(taking);
      return take(prisma, queue, taking);
    },
    settle: (id, { now, leasesMs: [usualMs = 0] }) =>
      settle(prisma, queue, id, new Date(now.getTime() + usualMs)),
    async giveBack(taken, lease) {
      owed = [...owed, ...taken];
      await payBack(lease);
    },
    async noteReason(jobId, reason) {
      await prisma.quarantine.updateMany({ where: { queue, jobId }, data: { reason } });
    },
  };
}

const reason = 'taken again and again, and nothing was saved: its worker died each time';

/**
 * The lease is the row's own time, moved ahead: what a killed worker had taken comes due by itself. All sweeps count in one
 * column, which a save for any of them resets; so the note keeps a count of its own, or a suspect would seem new.
 */
function take(
  prisma: PrismaClient,
  queue: Sweep,
  { now, leasesMs, limit, suspects }: Taking,
): Promise<readonly Taken[]> {
  const { column, statuses } = sweeps[queue];
  const most = quarantine.takesSuspicious;
  return prisma.$queryRaw<Taken[]>`
    WITH due AS MATERIALIZED (
      SELECT domain.id, GREATEST(leases + 1, note.times + ${most}::int) AS takes
      FROM domain LEFT JOIN quarantine AS note ON note.queue = ${queue} AND note.job_id = domain.id::text
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
      SELECT ${queue}, id::text, id, ${reason}, takes - ${most}::int + 1, ${now}::timestamptz, until
      FROM taken WHERE takes >= ${most}::int
      ON CONFLICT (queue, job_id) DO UPDATE SET
        times = EXCLUDED.times, since = EXCLUDED.since, until = EXCLUDED.until
    )
    SELECT id::text, takes FROM taken`;
}

/** Where something was saved, the save has set the next time; otherwise the long lease of a suspect ends here. */
async function settle(prisma: PrismaClient, queue: Sweep, id: string, until: Date) {
  const { column } = sweeps[queue];
  await prisma.$executeRaw`
    WITH well AS (
      UPDATE domain SET leases = 0, ${column} = LEAST(${column}, ${until})
      WHERE id = ${id}::uuid AND leases > 0)
    DELETE FROM quarantine WHERE queue = ${queue} AND job_id = ${id}`;
}

async function untake(prisma: PrismaClient, queue: Sweep, ids: readonly string[], until: Date) {
  const { column } = sweeps[queue];
  await prisma.$executeRaw`
    WITH given AS (
      SELECT id FROM domain WHERE id = ANY(${ids}::uuid[]) AND leases > 0 ORDER BY id FOR NO KEY UPDATE
    ), untaken AS (
      UPDATE domain SET leases = leases - 1, ${column} = LEAST(${column}, ${until})
      FROM given WHERE domain.id = given.id
    ), counted AS (
      UPDATE quarantine SET times = times - 1
      WHERE queue = ${queue} AND job_id = ANY(${ids}::text[]) AND times > 1
    )
    DELETE FROM quarantine WHERE queue = ${queue} AND job_id = ANY(${ids}::text[]) AND times <= 1`;
}
