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
  /** Without quarantined ones. */
  count(queue: WaitingQueue, now: Date): Promise<number>;
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

type Rows = Omit<WaitingStore, 'takeTurn'>;
type OneQueue = {
  readonly [K in keyof Rows]: Rows[K] extends (queue: WaitingQueue, ...rest: infer R) => infer A
    ? (...rest: R) => A
    : never;
};

export function createWaitingStore(prisma: PrismaClient): WaitingStore {
  const queues: { readonly [Q in WaitingQueue]: OneQueue } = {
    'check-dns': domainJobs(prisma, 'check-dns'),
    'issue-certificate': domainJobs(prisma, 'issue-certificate'),
    'escalate-certificate': domainJobs(prisma, 'escalate-certificate'),
    'deliver-webhook': deliveryJobs(prisma),
  };
  return {
    count: (queue, now) => queues[queue].count(now),
    overdue: (queue, ...rest) => queues[queue].overdue(...rest),
    page: (queue, ...rest) => queues[queue].page(...rest),
    among: (queue, keys) => queues[queue].among(keys),
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

function domainJobs(prisma: PrismaClient, queue: DomainQueue): OneQueue {
  const { status, due } = waitingDomains[queue];
  const waits = Prisma.sql`removed_at IS NULL AND status = ${status} AND ${due} IS NOT NULL`;
  const notQuarantined = (now: Date) => Prisma.sql`NOT EXISTS (
    SELECT FROM quarantine WHERE queue = ${queue} AND until > ${now}
      AND quarantine.domain_id = domain.id AND job_id = domain.id || '.' || domain.epoch)`;
  const jobs = async (which: Prisma.Sql): Promise<readonly WaitingJob[]> => {
    const rows = await prisma.$queryRaw<WaitingRow[]>`
      SELECT id, epoch, project_id AS "projectId", status::text,
        next_check_at AS "nextCheckAt", escalate_at AS "escalateAt"
      FROM domain WHERE ${waits} AND ${which}`;
    return rows.flatMap((row) => jobOf(row, queue));
  };
  return {
    count: (now) =>
      countRows(prisma, Prisma.sql`FROM domain WHERE ${waits} AND ${notQuarantined(now)}`),
    overdue: (dueBefore, now, limit) =>
      jobs(
        Prisma.sql`${due} < ${dueBefore} AND ${notQuarantined(now)} ORDER BY ${due} LIMIT ${limit}`,
      ),
    page: (afterKey, limit) =>
      jobs(Prisma.sql`id > ${afterKey ?? FIRST}::uuid ORDER BY id LIMIT ${limit}`),
    among: (keys) => jobs(Prisma.sql`id = ANY(${keys}::uuid[])`),
  };
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
function deliveryJobs(prisma: PrismaClient): OneQueue {
  const waits = Prisma.sql`status = 'pending' AND queued_at IS NOT NULL`;
  const notQuarantined = (now: Date) => Prisma.sql`NOT EXISTS (
    SELECT FROM quarantine WHERE queue = 'deliver-webhook' AND until > ${now}
      AND job_id = webhook_delivery.id::text)`;
  const jobs = async (which: Prisma.Sql): Promise<readonly WaitingJob[]> => {
    const rows = await prisma.$queryRaw<{ id: string; runAt: Date }[]>`
      SELECT id, queued_at AS "runAt" FROM webhook_delivery WHERE ${waits} AND ${which}`;
    return rows.map(({ id, runAt }) => ({ key: id, job: { deliveryId: id }, runAt }));
  };
  return {
    count: (now) =>
      countRows(
        prisma,
        Prisma.sql`FROM webhook_delivery WHERE ${waits} AND ${notQuarantined(now)}`,
      ),
    overdue: (dueBefore, now, limit) =>
      jobs(Prisma.sql`queued_at < ${dueBefore} AND ${notQuarantined(now)}
        ORDER BY queued_at LIMIT ${limit}`),
    page: (afterKey, limit) =>
      jobs(Prisma.sql`id > ${afterKey ?? FIRST}::uuid ORDER BY id LIMIT ${limit}`),
    among: (keys) => jobs(Prisma.sql`id = ANY(${keys}::uuid[])`),
  };
}

async function countRows(prisma: PrismaClient, from: Prisma.Sql): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: bigint }[]>`SELECT count(*) ${from}`;
  return Number(row?.count ?? 0);
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
