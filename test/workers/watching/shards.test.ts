/** Which names a process watches, with a database that answers when the test says so. */
import { describe, expect, it } from 'vitest';
import type { WatchedName } from '../../../src/core/watch/watched-name.ts';
import { createShards } from '../../../workers/watching/shards.ts';
import { until } from '../../support/world.ts';

type Stored = Map<string, { readonly shard: number; readonly epoch: number }>;

/** `hold`: what is loaded now arrives only when the returned function is called. */
function aProcess(stored: Stored) {
  const watched = new Map<string, number>();
  const faults: unknown[] = [];
  let held: Promise<void> | null = null;
  let isAway = false;
  const finds: (readonly string[])[] = [];
  const nameOf = (id: string, epoch: number): WatchedName => ({
    id,
    epoch,
    hostname: `${id}.example.com`,
    status: 'pending',
    since: 0,
    servers: [{ server: 'ns.example.com', address: '192.0.2.1', digest: epoch }],
  });
  const shards = createShards({
    watch: {
      put: ({ id, epoch }) => void watched.set(id, epoch),
      remove: (id) => void watched.delete(id),
    },
    async *load(shard) {
      if (isAway) throw new Error('the database is away');
      const rows = [...stored].filter(([, row]) => row.shard === shard);
      await held;
      yield rows.map(([id, { epoch }]) => nameOf(id, epoch));
    },
    async find(ids) {
      finds.push(ids);
      if (isAway) throw new Error('the database is away');
      return ids.flatMap((id) => {
        const row = stored.get(id);
        return row === undefined ? [] : [nameOf(id, row.epoch)];
      });
    },
    onFault: (fault) => void faults.push(fault),
  });
  return {
    shards,
    watched,
    faults,
    finds,
    hold(): () => void {
      let release = () => {};
      held = new Promise((resolve) => {
        release = resolve;
      });
      return () => {
        held = null;
        release();
      };
    },
    away: (is: boolean) => {
      isAway = is;
    },
    isWatching: (...names: readonly (readonly [string, number])[]) =>
      until(`${names}`, async () => {
        const now = [...watched].toSorted().join();
        return now === [...names].toSorted().join();
      }),
  };
}

const rows = (...given: readonly (readonly [string, number, number?])[]): Stored =>
  new Map(given.map(([id, shard, epoch = 1]) => [id, { shard, epoch }]));

describe('a process watches', () => {
  it('the names of its shards, and forgets those of shards that go', async () => {
    const { shards, isWatching } = aProcess(rows(['a', 1], ['b', 2], ['c', 3]));
    await shards.own([1, 2]);
    await isWatching(['a', 1], ['b', 1]);
    await shards.own([2, 3]);
    await isWatching(['b', 1], ['c', 1]);
    await shards.own([]);
    await isWatching();
  });

  it('what comes, changes and goes, and asks once for what changes together', async () => {
    const stored = rows(['a', 1], ['b', 1]);
    const { shards, finds, isWatching } = aProcess(stored);
    await shards.own([1]);
    stored.set('a', { shard: 1, epoch: 2 });
    stored.delete('b');
    stored.set('c', { shard: 1, epoch: 1 });
    for (const id of ['a', 'b', 'c', 'a']) shards.changed(1, id);
    await isWatching(['a', 2], ['c', 1]);
    expect(finds).toEqual([['a', 'b', 'c']]);
  });

  it('nothing of a shard that it does not have', async () => {
    const { shards, finds, isWatching } = aProcess(rows(['a', 1], ['b', 2]));
    await shards.own([1]);
    shards.changed(2, 'b');
    shards.changed(1, 'a');
    await until('the question', async () => finds.length > 0);
    expect(finds).toEqual([['a']]);
    await isWatching(['a', 1]);
  });

  it('what changed while its shard was read, though what is read is older', async () => {
    const stored = rows(['a', 1, 1]);
    const { shards, hold, isWatching } = aProcess(stored);
    const release = hold();
    const read = shards.own([1]);
    await new Promise((resolve) => setImmediate(resolve));
    stored.set('a', { shard: 1, epoch: 2 });
    shards.changed(1, 'a');
    release();
    await read;
    await isWatching(['a', 2]);
  });

  it('nothing of a shard that went while it was read', async () => {
    const { shards, hold, watched } = aProcess(rows(['a', 1]));
    const release = hold();
    const read = shards.own([1]);
    await shards.own([]);
    release();
    await read;
    expect([...watched]).toEqual([]);
  });

  it('what no notification said, when everything is read again', async () => {
    const stored = rows(['a', 1], ['b', 2]);
    const { shards, isWatching } = aProcess(stored);
    await shards.own([1, 2]);
    stored.delete('a');
    stored.set('c', { shard: 2, epoch: 1 });
    await shards.readAll();
    await isWatching(['b', 1], ['c', 1]);
  });

  it('each shard again in its turn', async () => {
    const stored = rows();
    const { shards, isWatching } = aProcess(stored);
    await shards.own([1, 2]);
    stored.set('a', { shard: 1, epoch: 1 });
    stored.set('b', { shard: 2, epoch: 1 });
    await shards.readOldest();
    await isWatching(['a', 1]);
    await shards.readOldest();
    await isWatching(['a', 1], ['b', 1]);
  });

  it('a change that could not be read, once the database is back', async () => {
    const stored = rows(['a', 1]);
    const { shards, away, faults, isWatching } = aProcess(stored);
    await shards.own([1]);
    stored.set('a', { shard: 1, epoch: 2 });
    away(true);
    shards.changed(1, 'a');
    await until('a fault', async () => faults.length > 0);
    away(false);
    await isWatching(['a', 2]);
  });
});
