import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFleetStore, type FleetStore, type NewProcess } from '../../src/db/fleet.ts';
import { openTestDatabase, type TestDatabase } from '../http/support.ts';

let database: TestDatabase;
let store: FleetStore;
beforeAll(async () => {
  database = await openTestDatabase();
  store = createFleetStore(database.prisma, 60_000);
});
afterAll(() => database?.close());

const worker = (): NewProcess => ({
  id: randomUUID(),
  role: 'worker',
  host: 'worker-1',
  pid: 1,
  version: '1.0.0',
  settings: { EDGE: 'caddy' },
});
const report = { isJoined: true, isQueueSeen: false, resolversFailing: false, problem: null };
const refused = async () =>
  (await store.load()).processes.filter(({ refusedAt }) => refusedAt !== null);

describe('The stored processes', () => {
  it('keep one refusal of a process that is started again and again, until it joins', async () => {
    const [first, second, third] = [worker(), worker(), worker()];
    await store.register(first, false);
    await store.refuse(first, 'EDGE is caddy.');
    await store.register(second, false);
    expect((await refused()).map(({ id }) => id)).toEqual([first.id]);
    await store.refuse(second, 'EDGE is caddy.');
    expect((await refused()).map(({ id }) => id)).toEqual([second.id]);
    await store.register(third, false);
    await store.forgetRefused(third);
    expect(await refused()).toEqual([]);
  });

  it('contain a process again that reports after its record was lost', async () => {
    const lost = worker();
    await store.register(lost, false);
    await store.leave(lost.id);
    await store.report(lost, report);
    const found = (await store.load()).processes.find(({ id }) => id === lost.id);
    expect(found?.joinedAt).toBeInstanceOf(Date);
  });

  it('give accepted settings until they expire', async () => {
    const one = worker();
    await store.register(one, false);
    expect(await store.accept(one.id)).toBeNull();
    await store.refuse(one, 'EDGE is caddy.');
    expect(await store.accept(one.id)).toEqual(one.settings);
    expect((await store.load()).accepted).toEqual(one.settings);
    const expired = createFleetStore(database.prisma, 0);
    expect((await expired.load()).accepted).toEqual({});
  });
});
