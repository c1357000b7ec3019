import type { QueueName } from '../../core/operations/jobs.ts';
import type { PrismaClient } from '../generated/client.ts';

type Suspect = {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly domainId: string | null;
  /** One line without secrets, for operators. */
  readonly reason: string;
};

/** `times`: in a row, including this time. */
type QuarantineTimes = { readonly times: number; readonly until: Date };

export type Quarantined = { readonly reason: string; readonly until: Date };

/** One record per job. It stays until the job succeeds, even after the quarantine ends. */
export type QuarantineStore = {
  /** For the next of `waitsMs`, by how often in a row; the last value repeats. */
  add(job: Suspect, at: Date, waitsMs: readonly number[]): Promise<QuarantineTimes>;
  /** For a job that succeeded; resets `times`. */
  forget(queue: QueueName, jobId: string): Promise<void>;
  /** Null if it is not quarantined now. */
  find(queue: QueueName, jobId: string, now: Date): Promise<Quarantined | null>;
  /** Ends a quarantine so that the job can run; true if it has a record, even an ended one. */
  endAt(queue: QueueName, jobId: string, now: Date): Promise<boolean>;
  /** Of jobs that have a record; a time can be in the past. */
  untils(queue: QueueName, jobIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
  /** Of jobs that no longer exist and never succeed. */
  dropBefore(until: Date): Promise<void>;
};

/** Each call is one statement; all times come from the caller's clock. */
export function createQuarantineStore(prisma: PrismaClient): QuarantineStore {
  return {
    async add({ queue, jobId, domainId, reason }, at, waitsMs) {
      const [row] = await prisma.$queryRaw<QuarantineTimes[]>`
        INSERT INTO quarantine AS q (queue, job_id, domain_id, reason, times, since, until)
        VALUES (${queue}, ${jobId}, ${domainId}::uuid, ${reason}, 1, ${at}::timestamptz,
          ${at}::timestamptz + make_interval(secs => (${waitsMs}::float8[])[1] / 1000))
        ON CONFLICT (queue, job_id) DO UPDATE SET
          reason = EXCLUDED.reason, times = q.times + 1, since = EXCLUDED.since,
          until = EXCLUDED.since + make_interval(
            secs => (${waitsMs}::float8[])[LEAST(q.times + 1, ${waitsMs.length}::int)] / 1000)
        RETURNING times, until`;
      if (row === undefined) throw new Error('the statement returned no row');
      return row;
    },
    async forget(queue, jobId) {
      await prisma.quarantine.deleteMany({ where: { queue, jobId } });
    },
    find: (queue, jobId, now) =>
      prisma.quarantine.findFirst({
        where: { queue, jobId, until: { gt: now } },
        select: { reason: true, until: true },
      }),
    async endAt(queue, jobId, now) {
      const [row] = await prisma.$queryRaw<unknown[]>`
        UPDATE quarantine SET until = LEAST(until, ${now}::timestamptz)
        WHERE queue = ${queue} AND job_id = ${jobId} RETURNING 1`;
      return row !== undefined;
    },
    async untils(queue, jobIds) {
      const rows = await prisma.$queryRaw<{ jobId: string; until: Date }[]>`
        SELECT job_id AS "jobId", until FROM quarantine
        WHERE queue = ${queue} AND job_id = ANY(${jobIds}::text[])`;
      return new Map(rows.map(({ jobId, until }) => [jobId, until]));
    },
    async dropBefore(until) {
      await prisma.quarantine.deleteMany({ where: { until: { lt: until } } });
    },
  };
}
