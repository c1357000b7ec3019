/** Accounts take turns in every queue, on each storage. */
import { randomUUID } from 'node:crypto';
import { DelayedError, type Job, Worker } from 'bullmq';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DomainJob } from '../../src/core/operations/jobs.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { createAccountTurns, laterTurn } from '../../src/queue/account-turns.ts';
import { openQueueBackend, type QueueBackend } from '../../src/queue/backend.ts';
import { openQueues, type SeenQueues } from '../../src/queue/queues.ts';
import { type FreshStorage, freshStorage, storagesOfRun } from '../support/storage.ts';

const log = pino({ level: 'silent' });

describe('the place of a job', () => {
  const account = async (projectId: string) => projectId.charAt(0);
  const of = (...projectIds: readonly string[]) => projectIds.map((projectId) => ({ projectId }));

  it('counts the jobs of its account, whatever their project', async () => {
    const turns = createAccountTurns(account, () => 0);
    expect(await turns.next('check-dns', of('a1', 'a2', 'b1', 'a1'))).toEqual([1, 2, 1, 3]);
    expect(await turns.next('check-dns', of('b2', 'a3'))).toEqual([2, 4]);
  });
  it('is separate in each queue', async () => {
    const turns = createAccountTurns(account, () => 0);
    await turns.next('check-dns', of('a1', 'a1'));
    expect(await turns.next('issue-certificate', of('a1'))).toEqual([1]);
  });
  it('is before all others without a project', async () => {
    const turns = createAccountTurns(account, () => 0);
    expect(await turns.next('check-dns', [{}, { projectId: undefined }])).toEqual([0, 0]);
  });
  it('moves by one in a second, and no further than the first', async () => {
    let now = 0;
    const turns = createAccountTurns(account, () => now);
    await turns.next('check-dns', of('a', 'a', 'a', 'a'));
    now = 2_000;
    expect(await turns.next('check-dns', of('a'))).toEqual([3]);
    now = 60_000;
    expect(await turns.next('check-dns', of('a', 'a'))).toEqual([1, 2]);
  });
  it('is at most an hour behind, however many jobs there were', async () => {
    let now = 0;
    const turns = createAccountTurns(account, () => now);
    const many = await turns.next('check-dns', Array(10_000).fill({ projectId: 'a' }));
    expect(many.at(-1)).toBe(3_600);
    now = 3_600_000;
    expect(await turns.next('check-dns', of('a'))).toEqual([1]);
  });
  it('after a first run is after all that never ran, once', () => {
    expect(laterTurn(1)).toBe(3_601);
    expect(laterTurn(3_600)).toBe(7_200);
    expect(laterTurn(3_601)).toBeNull();
    expect(laterTurn(0)).toBe(3_601); // of a process of the version before
  });
});

describe.each(storagesOfRun())('on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  let backend: QueueBackend;
  let queues: SeenQueues;
  const closings: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, log);
    backend = await openQueueBackend(fresh.storage, database, log);
    // Two projects of one account, and one of another.
    queues = openQueues(backend, async (projectId) => projectId.charAt(0));
  });
  afterEach(async () => {
    for (const close of closings.splice(0)) await close();
  });
  afterAll(async () => {
    if (!available) return;
    await queues.close();
    await backend.close();
    await database.close();
    await fresh.close();
  });

  /** The owners of the jobs in the order in which one worker takes them. */
  function taken(count: number, owners: ReadonlyMap<string, string>, runsEach = 1) {
    const order: string[] = [];
    const runs = new Map<string, number>();
    return new Promise<readonly string[]>((resolve, reject) => {
      const run = async (job: Job<DomainJob>, token: string | undefined) => {
        const { domainId } = job.data;
        order.push(owners.get(domainId) ?? '?');
        if (order.length === count) resolve(order);
        runs.set(domainId, (runs.get(domainId) ?? 0) + 1);
        if ((runs.get(domainId) ?? 0) >= runsEach) return;
        await job.changePriority({ priority: laterTurn(Number(job.priority)) ?? 0 });
        await job.moveToDelayed(Date.now() + 60_000, token);
        throw new DelayedError();
      };
      const options = { ...backend.workerOptions, concurrency: 1 };
      const worker = new Worker('check-dns', run, options, backend.factory);
      worker.on('error', reject);
      closings.push(() => worker.close());
    });
  }

  async function enqueue(owners: Map<string, string>, owner: string, projects: readonly string[]) {
    const jobs = projects.map((projectId) => {
      const job = { domainId: randomUUID(), epoch: 1 };
      owners.set(job.domainId, owner);
      return { job, runAt: new Date(), projectId };
    });
    await queues.enqueue('check-dns', jobs);
    return jobs;
  }

  it.skipIf(!available)(
    'the first job of one account runs before the second of another',
    async () => {
      const owners = new Map<string, string>();
      const many = Array.from({ length: 50 }, (_, nth) => `a${nth % 2}`);
      await enqueue(owners, 'many', many);
      await enqueue(owners, 'few', ['b', 'b', 'b']);
      const order = await taken(53, owners);
      expect(order.slice(0, 6).filter((owner) => owner === 'few')).toHaveLength(3);
    },
  );

  it.skipIf(!available)('a job that ran before runs after one that never did', async () => {
    const owners = new Map<string, string>();
    const again = await enqueue(owners, 'again', ['c']);
    for (const { job } of again) await queues.remove('check-dns', job);
    await queues.ensure('check-dns', again);
    await enqueue(owners, 'new', ['d', 'd', 'd']);
    expect(await taken(4, owners)).toEqual(['new', 'new', 'new', 'again']);
  });

  it.skipIf(!available)('a later turn is kept while a job waits for its next run', async () => {
    const owners = new Map<string, string>();
    const [first] = await enqueue(owners, 'first', ['e']);
    await taken(1, owners, 2);
    await expect.poll(async () => (await queues.counts('check-dns')).active).toBe(0);
    for (const close of closings.splice(0)) await close();
    const job = await (await queues.opened('check-dns')).getJob(`${first?.job.domainId}.1`);
    expect(Number(job?.priority)).toBe(3_601);
  });
});
