/** Jobs that were set aside, with the reason and until when. */
import type { QueueName } from '../../core/operations/jobs.ts';
import type { PrismaClient } from '../generated/client.ts';

export type Suspect = {
  readonly queue: QueueName;
  readonly jobId: string;
  /** Null where the job is no domain's. */
  readonly domainId: string | null;
  /** In one line, without secrets: operators read it. */
  readonly reason: string;
};

export type SetAside = { readonly times: number; readonly until: Date };

export type Quarantined = { readonly reason: string; readonly until: Date };

export type QuarantineStore = {
  /** Notes it, each time for longer: for the first of `waitsMs` first, for the last of them ever after. */
  setAside(job: Suspect, at: Date, waitsMs: readonly number[]): Promise<SetAside>;
  /** It went well: its next trouble is its first again. */
  forget(queue: QueueName, jobId: string): Promise<void>;
  /** Why and until when a job is set aside now; null where it is not. */
  find(queue: QueueName, jobId: string, now: Date): Promise<Quarantined | null>;
  /** Ends the time of a job that is set aside, so that it may be tried; answers whether it was set aside, now or before. */
  endAt(queue: QueueName, jobId: string, now: Date): Promise<boolean>;
  /** Of these jobs those that were set aside, with the end of their time, which may have passed. */
  untils(queue: QueueName, jobIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
  /** Drops what nobody has asked about since then; a job that nobody wants any more never goes well. */
  dropBefore(until: Date): Promise<void>;
};

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
