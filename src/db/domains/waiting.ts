/** The reconciler's queries. */
import {
  type DeliveryJob,
  type DomainJob,
  type DomainQueue,
  type FollowUpState,
  followUps,
} from '../../core/operations/jobs.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';

/** Queues with a job for each waiting row. */
export type WaitingQueue = DomainQueue | 'deliver-webhook';

export type WaitingJob = {
  /** The row's id; pages are ordered by it. */
  readonly key: string;
  readonly job: DomainJob | DeliveryJob;
  /** For a delivery, when it was queued. */
  readonly runAt: Date;
  /** Of a domain. */
  readonly projectId?: string;
};

/** Which jobs the rows need. Only `takeTurn` writes. */
export type WaitingStore = {
  /** Without quarantined ones, the longest overdue first. */
  overdue(
    queue: WaitingQueue,
    dueBefore: Date,
    now: Date,
    limit: number,
  ): Promise<readonly WaitingJob[]>;
  /** Includes quarantined ones; `afterKey`: null for the first page. */
  page(queue: WaitingQueue, afterKey: string | null, limit: number): Promise<readonly WaitingJob[]>;
  among(queue: WaitingQueue, keys: readonly string[]): Promise<readonly WaitingJob[]>;
  /** A lease by the database's clock: true for one caller per `everyMs`. */
  takeTurn(name: string, everyMs: number): Promise<boolean>;
};

export function createWaitingStore(prisma: PrismaClient): WaitingStore {
  const jobs = (queue: WaitingQueue, which: Prisma.Sql) =>
    queue === 'deliver-webhook' ? deliveryJobs(prisma, which) : domainJobs(prisma, queue, which);
  return {
    overdue: (queue, dueBefore, now, limit) => {
      const due = queue === 'deliver-webhook' ? queuedAt : waitingDomains[queue].due;
      const isQuarantined = Prisma.sql`EXISTS (SELECT FROM quarantine
        WHERE queue = ${queue} AND until > ${now} AND ${jobIdMatches(queue)})`;
      return jobs(
        queue,
        Prisma.sql`${due} < ${dueBefore} AND NOT ${isQuarantined} ORDER BY ${due} LIMIT ${limit}`,
      );
    },
    page: (queue, afterKey, limit) =>
      jobs(queue, Prisma.sql`id > ${afterKey ?? FIRST}::uuid ORDER BY id LIMIT ${limit}`),
    among: (queue, keys) => jobs(queue, Prisma.sql`id = ANY(${keys}::uuid[])`),
    async takeTurn(name, everyMs) {
      const taken = await prisma.$queryRaw<unknown[]>`
        INSERT INTO turn AS t (name, taken_at) VALUES (${name}, now())
        ON CONFLICT (name) DO UPDATE SET taken_at = now()
          WHERE t.taken_at <= now() - make_interval(secs => ${everyMs / 1000})
        RETURNING name`;
      return taken.length === 1;
    },
  };
}

type WaitingRow = FollowUpState & {
  readonly id: string;
  readonly epoch: number;
  readonly projectId: string;
};

/** Must equal followUps() of src/core/operations/jobs.ts; in SQL to use an index. */
const waitingDomains: {
  readonly [Q in DomainQueue]: { readonly status: Prisma.Sql; readonly due: Prisma.Sql };
} = {
  'check-dns': { status: Prisma.sql`'pending'`, due: Prisma.sql`next_check_at` },
  'issue-certificate': { status: Prisma.sql`'verified'`, due: Prisma.sql`next_check_at` },
  'escalate-certificate': { status: Prisma.sql`'verified'`, due: Prisma.sql`escalate_at` },
};

const queuedAt = Prisma.sql`queued_at`;

/** Of quarantine records: by the domain, whose index they have, and the job. */
function jobIdMatches(queue: WaitingQueue): Prisma.Sql {
  return queue === 'deliver-webhook'
    ? Prisma.sql`job_id = webhook_delivery.id::text`
    : Prisma.sql`quarantine.domain_id = domain.id AND job_id = domain.id || '.' || domain.epoch`;
}

async function domainJobs(prisma: PrismaClient, queue: DomainQueue, which: Prisma.Sql) {
  const { status, due } = waitingDomains[queue];
  const rows = await prisma.$queryRaw<WaitingRow[]>`
    SELECT id, epoch, project_id AS "projectId", status::text,
      next_check_at AS "nextCheckAt", escalate_at AS "escalateAt"
    FROM domain WHERE removed_at IS NULL AND status = ${status} AND ${due} IS NOT NULL AND ${which}`;
  return rows.flatMap((row) => jobOf(row, queue));
}

function jobOf(row: WaitingRow, queue: DomainQueue): readonly WaitingJob[] {
  const job = { domainId: row.id, epoch: row.epoch };
  return followUps(row).flatMap((followUp) =>
    followUp.queue === queue
      ? [{ key: row.id, job, runAt: followUp.runAt, projectId: row.projectId }]
      : [],
  );
}

/** Deliveries that the relay has queued; the others wait in their table. */
async function deliveryJobs(prisma: PrismaClient, which: Prisma.Sql) {
  const rows = await prisma.$queryRaw<{ id: string; runAt: Date }[]>`
    SELECT id, queued_at AS "runAt" FROM webhook_delivery
    WHERE status = 'pending' AND queued_at IS NOT NULL AND ${which}`;
  return rows.map(({ id, runAt }) => ({ key: id, job: { deliveryId: id }, runAt }));
}

/** Sorts before every id. */
const FIRST = '00000000-0000-0000-0000-000000000000';

/** `overdue_job`: sleeps past its time. `orphaned_job`: no row needs it. */
export const repairKinds = ['missing_job', 'overdue_job', 'orphaned_job', 'missing_sweep'] as const;
export type RepairKind = (typeof repairKinds)[number];

/** Atomic, so concurrent processes lose no counts. */
export async function countRepairs(
  prisma: PrismaClient,
  kind: RepairKind,
  repaired: number,
): Promise<void> {
  if (repaired === 0) return;
  await prisma.$executeRaw`
    INSERT INTO repair AS r (kind, count, last_at) VALUES (${kind}, ${repaired}::bigint, now())
    ON CONFLICT (kind) DO UPDATE SET count = r.count + EXCLUDED.count, last_at = now()`;
}
