/** The reconciler on a plain queue; on real servers: test/queue/repairs.test.ts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isSweepQueue, jobId, type QueueName } from '../../src/core/operations/jobs.ts';
import type { WaitingJob, WaitingQueue } from '../../src/db/domains/waiting.ts';
import { reconcile } from '../../workers/reconcile.ts';
import { later, noon } from '../support/builders.ts';
import { plainService } from '../support/plain-service.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const times = (reconcileEveryMs: number) => ({
  reconcileEveryMs,
  sweepEveryMs: { 'recheck-live': 10_000, 'renew-certificate': 60_000 },
});
const EVERY = times(20_000);
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const waits = (n: number, runAt = later(noon, 60_000)): WaitingJob => {
  return { key: id(n), job: { domainId: id(n), epoch: 1 }, runAt };
};
const idOf = ({ job }: WaitingJob) => jobId(job);
const nothing = { missing_job: 0, overdue_job: 0, orphaned_job: 0, missing_sweep: 0 };

type Rows = Partial<Record<WaitingQueue, WaitingJob[]>>;
type Situation = {
  readonly rows?: Rows;
  readonly jobs?: Partial<Record<QueueName, string[]>>;
  readonly quarantined?: ReadonlyMap<string, Date>;
  readonly turn?: boolean;
  /** Compares all rows and jobs; the default. */
  readonly full?: false;
  /** Sweeps that sleep past their interval. */
  readonly overslept?: number;
  readonly meanwhile?: (rows: Rows, jobs: Map<QueueName, Set<string>>) => void;
};

function world({ rows = {}, jobs = {}, quarantined = new Map(), turn = true, ...rest }: Situation) {
  const queues = new Map<QueueName, Set<string>>([
    ['recheck-live', new Set(['sweep'])],
    ['renew-certificate', new Set(['sweep'])],
    ...Object.entries(jobs).map(([name, ids]) => [name as QueueName, new Set(ids)] as const),
  ]);
  const idsIn = (name: QueueName) => {
    const ids = queues.get(name) ?? new Set<string>();
    queues.set(name, ids);
    return ids;
  };
  const probations: string[] = [];
  const runAts: Date[] = [];
  const isQuarantined = (job: WaitingJob, now: Date) => (quarantined.get(idOf(job)) ?? now) > now;
  const rowsOf = (queue: WaitingQueue) => rows[queue] ?? [];
  const pauses: number[] = [];
  let overslept = rest.overslept ?? 0;
  const service = plainService({
    database: stored.database,
    pause: async (ms: number) => {
      pauses.push(ms);
      rest.meanwhile?.(rows, queues);
    },
    waiting: {
      overdue: async (queue, dueBefore, now) =>
        rowsOf(queue).filter((job) => job.runAt < dueBefore && !isQuarantined(job, now)),
      page: async (queue, after) =>
        rowsOf(queue)
          .filter(({ key }) => after === null || key > after)
          .slice(0, 2),
      among: async (queue, keys) => rowsOf(queue).filter(({ key }) => keys.includes(key)),
      takeTurn: async (name) => (name === 'reconcile' ? turn : (rest.full ?? true)),
    },
    queues: {
      aliveIds: async (name) => new Set(idsIn(name)),
      astray: async (name, wanted) => wanted.filter(({ job }) => !idsIn(name).has(jobId(job))),
      async ensure(name, wanted) {
        const ids = idsIn(name);
        const missing = wanted.filter(({ job }) => !ids.has(jobId(job)));
        for (const { job, probation } of missing) {
          ids.add(jobId(job));
          if (probation) probations.push(jobId(job));
        }
        const woken = isSweepQueue(name) && overslept > 0 ? 1 : 0;
        overslept -= woken;
        if (isSweepQueue(name)) runAts.push(...wanted.map(({ runAt }) => runAt));
        return { added: missing.length, woken };
      },
      async removeIdle(name, ids) {
        return ids.filter((one) => idsIn(name).delete(one)).length;
      },
    },
    quarantine: {
      untils: async (_, ids) => new Map([...quarantined].filter(([one]) => ids.includes(one))),
      dropBefore: async () => {},
    },
  });
  return {
    service,
    probations,
    pauses,
    runAts,
    jobsIn: (name: QueueName) => [...idsIn(name)],
  };
}

let stored: StoredDomains;
beforeAll(async () => {
  stored = await openStoredDomains();
});
beforeEach(async () => void (await stored.database.prisma.repair.deleteMany()));
afterAll(() => stored.close());

/** The counts that operators see. */
async function counted(): Promise<Record<string, number>> {
  const rows = await stored.database.prisma.repair.findMany();
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]));
}

describe('the reconciler', () => {
  it('changes nothing when each waiting row has its job', async () => {
    const { service } = world({
      rows: { 'check-dns': [waits(1)], 'deliver-webhook': [] },
      jobs: { 'check-dns': [idOf(waits(1))] },
    });
    expect(await reconcile(service, EVERY)).toEqual(nothing);
    expect(await counted()).toEqual({});
  });

  it('restores every job and sweep of an emptied queue', async () => {
    const delivery = { key: id(9), job: { deliveryId: id(9) }, runAt: later(noon, 60_000) };
    const { service, jobsIn } = world({
      rows: {
        'check-dns': [waits(1), waits(2), waits(3)],
        'escalate-certificate': [waits(4)],
        'deliver-webhook': [delivery],
      },
      jobs: { 'recheck-live': [], 'renew-certificate': [] },
    });
    const repaired = { ...nothing, missing_job: 5, missing_sweep: 2 };
    expect(await reconcile(service, EVERY)).toEqual(repaired);
    expect(jobsIn('check-dns')).toEqual([waits(1), waits(2), waits(3)].map(idOf));
    expect(jobsIn('deliver-webhook')).toEqual([id(9)]);
    expect(await counted()).toEqual({ missing_job: 5, missing_sweep: 2 });
  });

  it('finds the lost job of an overdue row in every run, and then compares everything', async () => {
    const lost = waits(1, later(noon, -60_000));
    const { service, jobsIn } = world({
      rows: { 'check-dns': [lost, waits(2)] },
      jobs: { 'check-dns': [idOf(waits(2)), idOf(waits(3))] },
      full: false,
    });
    expect(await reconcile(service, EVERY)).toMatchObject({ missing_job: 1, orphaned_job: 1 });
    expect(jobsIn('check-dns').sort()).toEqual([lost, waits(2)].map(idOf));
  });

  it('finds a lost job that is not due, and an orphan, when it compares everything', async () => {
    const situation = () => ({
      rows: { 'check-dns': [waits(1)] },
      jobs: { 'check-dns': [idOf(waits(2))] },
    });
    const short = world({ ...situation(), full: false });
    expect(await reconcile(short.service, EVERY)).toEqual(nothing);
    const { service, jobsIn } = world(situation());
    const repaired = { ...nothing, missing_job: 1, orphaned_job: 1 };
    expect(await reconcile(service, EVERY)).toEqual(repaired);
    expect(jobsIn('check-dns')).toEqual([idOf(waits(1))]);
  });

  it('waits once before its second check of all suspicious queues', async () => {
    const situation = { rows: { 'check-dns': [waits(1)], 'issue-certificate': [waits(2)] } };
    const { service, pauses } = world(situation);
    expect(await reconcile(service, EVERY)).toMatchObject({ missing_job: 2 });
    expect(pauses).toEqual([5_000]);
    const testLab = world(situation);
    await reconcile(testLab.service, times(1_000));
    expect(testLab.pauses).toEqual([1_000]);
  });

  it('tolerates some delay in a test lab, too', async () => {
    const late = waits(1, later(noon, -4_000));
    const { service } = world({
      rows: { 'check-dns': [late] },
      jobs: { 'check-dns': [idOf(waits(2))] },
      full: false,
    });
    expect(await reconcile(service, times(1_000))).toEqual(nothing);
  });

  it('accepts the interval of a sweep, and repairs one that oversleeps', async () => {
    const { service, runAts } = world({ overslept: 1 });
    expect(await reconcile(service, EVERY)).toEqual({ ...nothing, overdue_job: 1 });
    expect(runAts).toEqual([later(noon, 10_000), later(noon, 60_000)]);
    expect(await counted()).toEqual({ overdue_job: 1 });
  });

  it('removes jobs without a row: of a removed domain, an old epoch, an unknown ID', async () => {
    const earlier = `${id(1)}.0`;
    const { service, jobsIn } = world({
      rows: { 'check-dns': [waits(1)] },
      jobs: { 'check-dns': [idOf(waits(1)), earlier, idOf(waits(2)), 'nobody'] },
    });
    expect(await reconcile(service, EVERY)).toEqual({ ...nothing, orphaned_job: 3 });
    expect(jobsIn('check-dns')).toEqual([idOf(waits(1))]);
  });

  it('repairs nothing that was in transit at the first check', async () => {
    const { service } = world({
      rows: { 'check-dns': [waits(1), waits(2), waits(3)] },
      jobs: { 'check-dns': [idOf(waits(3)), idOf(waits(4)), idOf(waits(5))] },
      meanwhile: (rows, jobs) => {
        // 1 has moved on, 2 has got its job, 4 has got its row, and 5 has ended.
        rows['check-dns'] = [waits(2), waits(3), waits(4)];
        jobs.set('check-dns', new Set([waits(2), waits(3), waits(4)].map(idOf)));
      },
    });
    expect(await reconcile(service, EVERY)).toEqual(nothing);
    expect(await counted()).toEqual({});
  });

  it('leaves a quarantined job alone until its time', async () => {
    const overdue = waits(1, later(noon, -60_000));
    const quarantined = new Map([[idOf(overdue), later(noon, 1_000)]]);
    const { service, jobsIn } = world({ rows: { 'check-dns': [overdue] }, quarantined });
    expect(await reconcile(service, EVERY)).toEqual(nothing);
    expect(jobsIn('check-dns')).toEqual([]);
    // Nor while it compares for another reason.
    const both = world({ rows: { 'check-dns': [overdue, waits(2)] }, quarantined });
    expect(await reconcile(both.service, EVERY)).toEqual({ ...nothing, missing_job: 1 });
    expect(both.jobsIn('check-dns')).toEqual([idOf(waits(2))]);
  });

  it('restores it afterwards, on probation', async () => {
    const overdue = waits(1, later(noon, -60_000));
    const { service, probations } = world({
      rows: { 'check-dns': [overdue] },
      quarantined: new Map([[idOf(overdue), later(noon, -1_000)]]),
    });
    await reconcile(service, EVERY);
    expect(probations).toEqual([idOf(overdue)]);
  });

  it('does nothing when another process has the lease', async () => {
    const { service, jobsIn } = world({ rows: { 'check-dns': [waits(1)] }, turn: false });
    expect(await reconcile(service, EVERY)).toBeNull();
    expect(jobsIn('check-dns')).toEqual([]);
  });

  describe('in a process that stops', () => {
    it('repairs nothing after an interrupted pause', async () => {
      const { service, jobsIn } = world({ rows: { 'check-dns': [waits(1), waits(2)] } });
      const stopping = new AbortController();
      const pause = () => {
        stopping.abort();
        return new Promise<void>(() => {}); // never resolves
      };
      expect(await reconcile({ ...service, pause }, EVERY, stopping.signal)).toEqual(nothing);
      expect(jobsIn('check-dns')).toEqual([]);
    });

    it('removes no job whose row it did not read', async () => {
      const stopping = new AbortController();
      const rows = [1, 2, 3, 4].map((n) => waits(n));
      const { service, jobsIn } = world({
        rows: { 'check-dns': rows },
        jobs: { 'check-dns': rows.map(idOf) },
      });
      const page: typeof service.waiting.page = (...asked) => {
        stopping.abort();
        return service.waiting.page(...asked);
      };
      const waiting = { ...service.waiting, page };
      expect(await reconcile({ ...service, waiting }, EVERY, stopping.signal)).toEqual(nothing);
      expect(jobsIn('check-dns')).toEqual(rows.map(idOf));
    });

    it('ends after the current batch and counts its repairs', async () => {
      const stopping = new AbortController();
      const rows = Array.from({ length: 1_500 }, (_, index) => waits(index + 1));
      const { service } = world({ rows: { 'check-dns': rows } });
      const page: typeof service.waiting.page = async (_, after) => (after === null ? rows : []);
      const ensure: typeof service.queues.ensure = (name, jobs) => {
        if (!isSweepQueue(name)) stopping.abort();
        return service.queues.ensure(name, jobs);
      };
      const one = {
        ...service,
        waiting: {
          ...service.waiting,
          page: async (...asked: Parameters<typeof page>) =>
            asked[0] === 'check-dns' ? page(...asked) : [],
        },
        queues: { ...service.queues, ensure },
      };
      const repaired = { ...nothing, missing_job: 1_000 };
      expect(await reconcile(one, EVERY, stopping.signal)).toEqual(repaired);
      expect(await counted()).toEqual({ missing_job: 1_000 });
    });
  });
});
