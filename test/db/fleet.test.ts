import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/engine/client.ts';
import { createFleetStore, type FleetStore, type NewProcess } from '../../src/db/fleet.ts';
import { fleetListeners } from '../../src/service/fleet.ts';
import { openTestDatabase, type TestDatabase } from '../http/support.ts';
import { defaultConfig } from '../support/plain-service.ts';

let database: TestDatabase;
let store: FleetStore;
beforeAll(async () => {
  database = await openTestDatabase();
  store = createFleetStore(database.prisma, 60_000);
});
beforeEach(() => database.prisma.fleetProcess.deleteMany());
afterAll(() => database?.close());

const worker = (host: string, settings: NewProcess['settings'] = { EDGE: 'own' }): NewProcess => ({
  ...{ id: randomUUID(), role: 'worker', host, pid: 1, version: '1.0.0', settings },
});
const register = (process: NewProcess, since: Date | null = null) =>
  store.register(process, false, since);
const report = { isQueueSeen: false, resolversFailing: false, problem: null };
const isRefused = { isRefused: true };

describe('The listeners of the fleet', () => {
  it('are the ports of each role at the addresses of its host', async () => {
    await register({ ...worker('localhost'), role: 'edge' });
    await register(worker('unknown.invalid'));
    const http = { host: '0.0.0.0', port: 3_100 };
    const config = { ...defaultConfig, http, metrics: { port: 9_100, token: undefined } };
    const now = () => new Date();
    const listeners = fleetListeners({ config, database: database as Database, now });
    const shown = (await listeners()).map(({ addresses, ports, edgePorts }) => [
      addresses.includes('127.0.0.1'),
      [...ports],
      [...edgePorts],
    ]);
    expect(shown.sort()).toEqual([
      [false, [9_100], []],
      [true, [9_100], [8_080, 8_443]],
    ]);
  });

  it('stay known while the database is away', async () => {
    await register(worker('localhost'));
    let now = 0;
    let isAway = false;
    const findMany = (query: object) =>
      isAway ? Promise.reject(new Error('away')) : database.prisma.fleetProcess.findMany(query);
    const prisma = Object.create(database.prisma, { fleetProcess: { value: { findMany } } });
    const parts = { config: defaultConfig, database: { prisma } as Database };
    const listeners = fleetListeners({ ...parts, now: () => new Date(now) });
    const first = await listeners();
    expect(first).toHaveLength(1);
    [isAway, now] = [true, 60_000];
    expect(await listeners()).toBe(first);
    expect(await listeners()).toBe(first);
  });
});

describe('The stored settings', () => {
  it('are those of the first process, and of each that adds one', async () => {
    await register(worker('a', { EDGE: 'own' }));
    expect(await register(worker('b', { EDGE: 'own', VERIFY_WINDOW: '48h' }))).toMatchObject({
      problem: null,
    });
    expect((await store.load()).current).toEqual({ EDGE: 'own', VERIFY_WINDOW: '48h' });
  });

  it('refuse a process that differs, once a running one has reported', async () => {
    const first = worker('a');
    await register(first);
    const other = worker('b', { EDGE: 'caddy' });
    const { at, ...tried } = await register(other);
    expect(tried).toEqual({
      isConfirmed: false,
      problem: expect.stringContaining('EDGE is caddy, but own in this installation'),
    });
    await store.report(first, report);
    expect((await register(other, at)).isConfirmed).toBe(true);
    const listed = (await store.load()).processes.map((one) => [one.host, one.isRefused]);
    expect(listed.sort()).toEqual([
      ['a', false],
      ['b', true],
    ]);
  });

  it('are replaced when no other process runs', async () => {
    await register(worker('a', { EDGE: 'own', TIME_SCALE: '1' }));
    const minuteAgo = new Date(Date.now() - 61_000);
    await database.prisma.fleetProcess.updateMany({ data: { seenAt: minuteAgo } });
    // At first they can still run: the database can have been away.
    const tried = await register(worker('b', { EDGE: 'caddy' }));
    expect(tried).toMatchObject({ isConfirmed: false, problem: expect.any(String) });
    expect((await register(worker('b', { EDGE: 'caddy' }), minuteAgo)).problem).toBeNull();
    expect((await store.load()).current).toEqual({ EDGE: 'caddy' });
  });

  it('bind only what a running process uses', async () => {
    const api = worker('a', { EDGE: 'own', ACCOUNT_LIMITS: 'keys=1' });
    await register(api);
    await register(worker('b'));
    await store.leave(api.id);
    const next = worker('a', { EDGE: 'own', ACCOUNT_LIMITS: 'keys=2' });
    expect((await register(next)).problem).toBeNull();
  });

  it('become those of a refused process that is accepted', async () => {
    const first = worker('a', { EDGE: 'own', TIME_SCALE: '1' });
    await register(first);
    const other = worker('b', { EDGE: 'caddy' });
    expect(await store.accept(first.id)).toBe(false);
    await register(other, new Date(Date.now() - 30_000));
    for (const _time of ['first', 'second']) expect(await store.accept(other.id)).toBe(true);
    expect((await store.load()).current).toEqual({ EDGE: 'caddy', TIME_SCALE: '1' });
    expect((await register(worker('b', { EDGE: 'caddy' }))).problem).toBeNull();
    expect((await register(worker('c', { EDGE: 'own' }))).problem).toContain('EDGE is own');
  });

  it('cannot be accepted of a process with another Redis', async () => {
    await register(worker('a', { REDIS_URL: 'a:1/0' }));
    const [without, other] = [worker('b', { REDIS_URL: 'not set' }), worker('c')];
    await register(without, new Date(Date.now() - 30_000));
    await register(other);
    await store.refuse(other, 'REDIS_URL b:1/0 is another Redis');
    expect(await store.accept(without.id)).toBe(false);
    expect(await store.accept(other.id)).toBe(false);
  });

  it('are of one process if two start at the same time', async () => {
    const both = await Promise.all(
      ['own', 'caddy'].map((EDGE) => register(worker(EDGE, { EDGE }))),
    );
    expect(both.filter(({ problem }) => problem === null)).toHaveLength(1);
  });
});

describe('The stored processes', () => {
  it('keep one refusal of a process that is started again and again, until it starts', async () => {
    await register(worker('a'));
    for (const _time of ['first', 'second'])
      await register(worker('b', { EDGE: 'caddy' }), new Date(Date.now() - 30_000));
    expect(await database.prisma.fleetProcess.count({ where: isRefused })).toBe(1);
    await register(worker('b'));
    expect(await database.prisma.fleetProcess.count({ where: isRefused })).toBe(0);
  });

  it('contain a process again that reports after its record was lost', async () => {
    const lost = worker('a');
    await register(lost);
    await store.leave(lost.id);
    await store.report(lost, report);
    expect((await store.load()).processes.map(({ id }) => id)).toEqual([lost.id]);
  });

  it('let one of two processes give the queue its ID', async () => {
    const [one, two] = [worker('a'), worker('b')];
    await register(one);
    await register(two);
    const claims = await Promise.all(
      [one, two].map(({ id }) => store.claimQueue(id, null, `queue of ${id}`)),
    );
    expect(claims.filter(Boolean)).toHaveLength(1);
    const [winner, loser] = claims[0] ? [one, two] : [two, one];
    expect(await store.queue(loser.id)).toEqual({ queueId: `queue of ${winner.id}`, isUsed: true });
    expect(await store.queue(winner.id)).toMatchObject({ isUsed: false });
    // Its Redis can be down: it is still the installation's.
    await database.prisma.fleetProcess.updateMany({ data: { queueSeenAt: new Date(0) } });
    expect(await store.queue(loser.id)).toMatchObject({ isUsed: true });
  });
});
