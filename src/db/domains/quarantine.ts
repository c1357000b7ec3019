/** Jobs that were set aside, with the reason and until when. */
import type { QueueName } from '../../core/operations/jobs.ts';
import type { PrismaClient } from '../generated/client.ts';

/** A job that is to be set aside. */
export type Suspect = {
  readonly queue: QueueName;
  readonly jobId: string;
  /** Null where the job is no domain's. */
  readonly domainId: string | null;
  /** In one line, without secrets: operators read it. */
  readonly reason: string;
};

/** `times`: how often in a row, this time included. `until`: the end of its time. */
export type SetAside = { readonly times: number; readonly until: Date };

/** Why a job is set aside, and until when. */
export type Quarantined = { readonly reason: string; readonly until: Date };

/** One note for each job that was set aside. It stays until the job succeeds, also when its time is over. */
export type QuarantineStore = {
  /** Sets a job aside for the next of `waitsMs`, by how often in a row it was; the last of them holds ever after. */
  setAside(job: Suspect, at: Date, waitsMs: readonly number[]): Promise<SetAside>;
  /** Deletes the note of a job that succeeded: the next time that it is set aside is its first again. */
  forget(queue: QueueName, jobId: string): Promise<void>;
  /** Why and until when a job is set aside now; null where it is not. */
  find(queue: QueueName, jobId: string, now: Date): Promise<Quarantined | null>;
  /** Ends the time of a job now, so that it may be tried; true where it has a note, even one whose time was over. */
  endAt(queue: QueueName, jobId: string, now: Date): Promise<boolean>;
  /** Those of these jobs that have a note, with the end of their time, which may be over. */
  untils(queue: QueueName, jobIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
  /** Deletes notes whose time was over before: of jobs that nobody needs any more, and which therefore never succeed. */
  dropBefore(until: Date): Promise<void>;
};

/** Each call is one statement; all times are the caller's clock. */
export function createQuarantineStore(prisma: PrismaClient): QuarantineStore {
  return {
    async setAside({ queue, jobId, domainId, reason }, at, waitsMs) {
      const [row] = await prisma.$queryRaw<SetAside[]>`
        INSERT INTO quarantine AS q (queue, job_id, domain_id, reason, times, since, until)
        VALUES (${queue}, ${jobId}, ${domainId}::uuid, ${reason}, 1, ${at}::timestamptz,
          ${at}::timestamptz + make_interval(secs => (${waitsMs}::float8[])[1] / 1000))
        ON CONFLICT (queue, job_id) DO UPDATE SET
          reason = EXCLUDED.reason, times = q.times + 1, since = EXCLUDED.since,
          until = EXCLUDED.since + make_interval(
            secs => (${waitsMs}::float8[])[LEAST(q.times + 1, ${waitsMs.length}::int)] / 1000)
        RETURNING times, until`;
      if (row === undefined) throw new Error('a row was written, and none came back');
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
