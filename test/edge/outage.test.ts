import { beforeEach, describe, expect, it } from 'vitest';
import { name, other, type RoutesFixture, route, startRoutes } from './support/routes.ts';

let db: RoutesFixture;
beforeEach(() => {
  db = startRoutes();
});

describe('While the database is unavailable', () => {
  beforeEach(async () => {
    await db.routes.find(name);
    db.isUp = false;
    db.now = 60_000;
  });

  it('a known name is served at once while one query a second retries', async () => {
    for (let n = 0; n < 100; n += 1) expect(await db.upstream()).toBe('http://one.test');
    expect(db.asked).toEqual([name, name]);
    db.now += 999;
    await db.routes.find(name);
    expect(db.asked).toHaveLength(2);
    db.now += 1;
    expect(await db.upstream()).toBe('http://one.test');
    expect(db.asked).toHaveLength(3);
    expect(db.warnings).toEqual(['routes cannot be read; cached ones stay in use']);
  });

  it('an unknown name is refused and queried each time: failures are not cached', async () => {
    await expect(db.routes.find(other)).rejects.toThrow('the database is away');
    await expect(db.routes.find(other)).rejects.toThrow('the database is away');
    db.isUp = true;
    expect(await db.upstream(other)).toBe('http://one.test');
    expect(db.warnings).toEqual([
      'routes cannot be read; cached ones stay in use',
      'routes can be read again',
    ]);
  });

  it('a name with a removal notification is gone', async () => {
    const found = db.routes.find(name);
    db.routes.notify({ kind: 'gone', hostname: name });
    await expect(found).rejects.toThrow('the database is away');
    await expect(db.routes.find(name)).rejects.toThrow('the database is away');
  });

  it('a name with a change notification is served unchanged', async () => {
    db.routes.notify({ kind: 'changed', hostname: name });
    expect(await db.upstream()).toBe('http://one.test');
  });

  it('a name that was already removed stays removed', async () => {
    db.isUp = true;
    db.stored.delete(name);
    expect(await db.routes.find(name)).toBeNull();
    db.isUp = false;
    db.now += 60_000;
    expect(await db.routes.find(name)).toBeNull();
  });

  it('a known name is served for a day at most', async () => {
    db.now = 24 * 3_600_000 - 1;
    expect(await db.upstream()).toBe('http://one.test');
    db.now += 1;
    await expect(db.routes.find(name)).rejects.toThrow('the database is away');
  });

  it('names are loaded again after it returns', async () => {
    expect(await db.upstream()).toBe('http://one.test');
    db.isUp = true;
    db.stored.delete(name);
    db.now += 1_000;
    await db.routes.find(name);
    await new Promise(setImmediate); // the query in the background
    expect(await db.routes.find(name)).toBeNull();
  });
});

describe('While the database is up and queries fail', () => {
  beforeEach(async () => {
    db.routes.notify({ kind: 'listening', since: db.now });
    await db.routes.find(name);
    db.now = 600_000;
    db.isUp = false;
    db.isBusy = true;
  });

  it('a name is served for a minute after its last confirmation, then refused', async () => {
    db.notify();
    db.now += 59_999;
    expect(await db.upstream()).toBe('http://one.test');
    db.now += 1;
    await expect(db.routes.find(name)).rejects.toThrow('the database is away');
    await expect(db.routes.find(name)).rejects.toThrow('the database is away');
  });

  it('a name removed without a notification is gone after the first successful query', async () => {
    db.notify();
    db.now += 30_000;
    db.stored.delete(name);
    expect(await db.upstream()).toBe('http://one.test');
    db.isUp = true;
    db.now += 1_000;
    await db.routes.find(name);
    await new Promise(setImmediate); // the query in the background
    expect(await db.routes.find(name)).toBeNull();
  });

  it('its availability is checked once a second, and an outage extends the cache time', async () => {
    for (let n = 0; n < 100; n += 1) await expect(db.routes.find(name)).rejects.toThrow();
    expect(db.lookups).toBe(1);
    db.isBusy = false;
    db.now += 1_000;
    expect(await db.upstream()).toBe('http://one.test');
    for (let n = 0; n < 100; n += 1) await db.routes.find(name);
    expect(db.lookups).toBe(2);
    db.isBusy = true;
    db.now += 1_000;
    await db.routes.find(name); // notices the outage
    await new Promise(setImmediate);
    await expect(db.routes.find(name)).rejects.toThrow('the database is away');
  });

  it('an expired name waits for its query', async () => {
    db.isUp = true;
    const release = db.hold();
    const found = db.routes.find(name);
    const late = await Promise.race([
      found,
      new Promise((resolve) => setTimeout(resolve, 50, 'late')),
    ]);
    expect(late).toBe('late');
    release();
    expect((await found)?.upstream).toBe('http://one.test');
  });
});

describe('A database that does not answer in time', () => {
  it('is awaited for unknown names and only briefly for known ones', async () => {
    await db.routes.find(name);
    db.now = 59_000;
    const release = db.hold();
    db.stored.set(name, route(name, { upstream: 'http://two.test' }));
    const unknown = db.routes.find(other);
    expect(await db.upstream()).toBe('http://one.test');
    release();
    expect((await unknown)?.hostname).toBe(other);
    expect(await db.upstream()).toBe('http://two.test');
  });
});
