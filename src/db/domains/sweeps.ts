/**
 * What the sweeps take from the database: due domains that wait for nothing, a batch at a time. Every take is counted
 * until something is saved, so that a domain that kills its worker, or meets a fault each time, is taken more and more seldom.
 */

import type { SweepQueue } from '../../core/operations/jobs.ts';
import { quarantine } from '../../core/operations/quarantine.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';

export type Lease = {
  readonly now: Date;
  /** For how long, by how often it was taken without a save; the last of them for ever after. The first is the usual one. */
  readonly leasesMs: readonly number[];
};

export type Taking = Lease & {
  /** The largest batch. */
  readonly limit: number;
  /** Those taken so often without a save that they may be what harms; or all the others. */
  readonly suspects: boolean;
};

/** `takes`: how often in a row, this time included. */
export type Taken = { readonly id: string; readonly takes: number };

export type DueDomains = {
  /** The longest due first; no two callers get the same. A suspect is noted in `quarantine`, so that an operator sees it. */
  take(taking: Taking): Promise<readonly Taken[]>;
  /** It went well, whether there was something to save or not: its next trouble is its first again. */
  settle(id: string, lease: Lease): Promise<void>;
  /** Not worked on, through no fault of theirs. Where the database is away, too, it rejects, and the next take makes good. */
  giveBack(taken: readonly string[], lease: Lease): Promise<void>;
  /** Why a suspect went wrong, in place of what the note says. */
  noteReason(id: string, reason: string): Promise<void>;
};

/** Of renewals a drifted domain is none until its DNS is right again; its certificate ends all the same. */
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

/** The domains that a sweep is for. */
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
 * The lease is the row's own time, moved ahead: what a killed worker had taken comes due by itself. Both sweeps count in
 * one column, and a save for the one must not make a poison of the other's look new: the note has its count, too.
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

/** Where something was saved, that has said when it is due next; where nothing was, a suspect's long lease is over. */
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
