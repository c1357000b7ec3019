/** Workers share the watched names: who has which shard, whoever comes, stalls, leaves or dies. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../src/db/engine/client.ts';
import { createShardLeases, SHARDS } from '../../../src/db/watch/shard-leases.ts';
import { sizeOfRun } from '../../support/run.ts';
import { databases, type FreshStorage, freshStorage } from '../../support/storage.ts';

const leaseMs = 600_000;
const all = Array.from({ length: SHARDS }, (_, shard) => shard);

describe.each(databases)('on $name, workers that watch', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  /** How much later it is than the clock says, in ms. */
  let passedMs = 0;

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  });
  beforeEach(() => available && leaveAll());
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  async function leaveAll() {
    await database.pool.query('DELETE FROM watch_worker');
    await database.pool.query('UPDATE watch_shard SET worker = NULL, leased_until = NULL');
  }

  /** Later, as far as every lease can tell. */
  async function pass(ms: number) {
    const back = `- make_interval(secs => ${ms / 1_000})`;
    await database.pool.query(`UPDATE watch_shard SET leased_until = leased_until ${back}`);
    await database.pool.query(`UPDATE watch_worker SET alive_until = alive_until ${back}`);
    passedMs += ms;
  }

  const clock = () => performance.now() + passedMs;

  /** A worker that knows what it has until when, as one with a clock of its own must. */
  function aWorker() {
    const leases = createShardLeases(database, randomUUID());
    let held: readonly number[] = [];
    let heldUntil = 0;
    return {
      async renew() {
        const began = clock();
        const share = await leases.renew({ leaseMs });
        held = share.shards;
        heldUntil = began + leaseMs;
        return share;
      },
      async release() {
        held = [];
        await leases.release();
      },
      shards: () => (clock() < heldUntil ? held : []),
    };
  }
  type Worker = ReturnType<typeof aWorker>;

  const someWorkers = (count: number) => Array.from({ length: count }, aWorker);
  const renewAll = (workers: readonly Worker[]) => Promise.all(workers.map((one) => one.renew()));
  const heldBy = (workers: readonly Worker[]) => workers.flatMap((one) => one.shards());
  const inOrder = (shards: readonly number[]) => shards.toSorted((a, b) => a - b);

  /** One heartbeat to announce them, one to give back, one to take. */
  async function settle(workers: readonly Worker[]) {
    for (let round = 0; round < 3; round += 1) await renewAll(workers);
  }

  function expectFairShares(workers: readonly Worker[]) {
    const fair = Math.ceil(SHARDS / workers.length);
    expect(inOrder(heldBy(workers))).toEqual(all);
    for (const one of workers) expect(one.shards().length).toBeLessThanOrEqual(fair);
  }

  it.skipIf(!available)(
    'have all shards where one is alone, from its second heartbeat on',
    async () => {
      const alone = aWorker();
      expect(await alone.renew()).toEqual({ shards: [], workers: 1 });
      expect(await alone.renew()).toEqual({ shards: all, workers: 1 });
      expect(await alone.renew()).toEqual({ shards: all, workers: 1 });
    },
  );

  it.skipIf(!available)('share from the beginning where they start together', async () => {
    const workers = someWorkers(3);
    await renewAll(workers);
    const sizes = (await renewAll(workers)).map(({ shards }) => shards.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(86);
    await renewAll(workers); // what two reached for at once, and one skipped
    expectFairShares(workers);
  });

  it.skipIf(!available)('give back what is above their share when others come', async () => {
    const [first, ...others] = someWorkers(4);
    if (first === undefined) throw new Error('there are four');
    await settle([first]);
    expect(first.shards()).toEqual(all);
    const workers = [first, ...others];
    await renewAll(others);
    expect(heldBy(others)).toEqual([]); // nothing is free yet
    expect(await first.renew()).toEqual({ shards: all.slice(0, 64), workers: 4 });
    await settle(workers);
    expect(workers.map((one) => one.shards().length)).toEqual([64, 64, 64, 64]);
    expectFairShares(workers);
  });

  it.skipIf(!available)('take what a dead one had once its lease has ended', async () => {
    const [dead, ...living] = someWorkers(3);
    if (dead === undefined) throw new Error('there are three');
    await settle([dead, ...living]);
    const left = dead.shards();
    await pass(0.9 * leaseMs);
    await settle(living);
    expect(heldBy(living)).toHaveLength(SHARDS - left.length); // its lease still holds
    await pass(0.1 * leaseMs);
    const [share] = await renewAll(living);
    expect(share?.workers).toBe(2);
    await renewAll(living);
    expectFairShares(living);
  });

  it.skipIf(!available)('take at once what one that stops has given back', async () => {
    const workers = someWorkers(2);
    await settle(workers);
    const [stopping, other] = workers;
    await stopping?.release();
    expect(await other?.renew()).toEqual({ shards: all, workers: 1 });
  });

  it.skipIf(!available)('keep, after a stall, what nobody has taken', async () => {
    const [stalled, other] = someWorkers(2);
    if (stalled === undefined || other === undefined) throw new Error('there are two');
    await settle([stalled, other]);
    const before = stalled.shards();
    await pass(leaseMs);
    expect(stalled.shards()).toEqual([]);
    expect((await stalled.renew()).shards).toEqual(before);
    await pass(leaseMs);
    await settle([other]);
    expect(other.shards()).toEqual(all);
    expect((await stalled.renew()).shards).toEqual([]);
  });

  it.skipIf(!available)('are forgotten long after they died', async () => {
    await settle(someWorkers(2));
    await pass(leaseMs + 2 * 3_600_000);
    await aWorker().renew();
    const { rows } = await database.pool.query('SELECT FROM watch_worker');
    expect(rows).toHaveLength(1);
  });

  const round = fc.record({
    acts: fc.array(fc.constantFrom('renew', 'renew', 'stall', 'release'), {
      minLength: 5,
      maxLength: 5,
    }),
    passed: fc.constantFrom(0, 0, 0.3, 0.5, 0.9, 1),
  });

  it.skipIf(!available)('never have a shard twice, and end with fair shares', async () => {
    const rounds = fc.array(round, { minLength: 1, maxLength: 8 });
    const property = fc.asyncProperty(rounds, async (story) => {
      await leaveAll();
      const workers = someWorkers(5);
      for (const { acts, passed } of story) {
        // All at the same time, each on a connection of its own where the storage has several.
        await Promise.all(
          workers.map((one, place) => {
            const act = acts[place];
            return act === 'renew' || act === 'release' ? one[act]() : undefined;
          }),
        );
        const held = heldBy(workers);
        expect(new Set(held).size).toBe(held.length);
        await pass(passed * leaseMs);
      }
      const living = workers.filter((_, place) => story.at(-1)?.acts[place] !== 'stall');
      await pass(leaseMs);
      if (living.length === 0) return;
      await settle(living);
      expectFairShares(living);
    });
    await fc.assert(property, { numRuns: sizeOfRun({ quick: 25, long: 500 }) });
  });
});
