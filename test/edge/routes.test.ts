import { beforeEach, describe, expect, it } from 'vitest';
import { name, other, type RoutesFixture, route, startRoutes } from './support/routes.ts';

let db: RoutesFixture;
beforeEach(() => {
  db = startRoutes();
});

describe('A cached name', () => {
  it('is queried once for concurrent requests, known or not', async () => {
    const names = [name, 'unknown.test', name, 'unknown.test'];
    const found = await Promise.all(names.map(db.routes.find));
    expect(found.map((one) => one?.hostname)).toEqual([name, undefined, name, undefined]);
    await db.routes.find(name);
    expect(await db.routes.find('unknown.test')).toBeNull();
    expect(db.asked).toEqual([name, 'unknown.test']);
  });

  it('is queried again after three seconds without a notification channel', async () => {
    await db.routes.find(name);
    db.stored.delete(name);
    db.now = 2_999;
    expect(await db.routes.find(name)).not.toBeNull();
    db.now = 3_000;
    expect(await db.routes.find(name)).toBeNull();
  });

  it('is valid while notifications arrive, for five minutes at most', async () => {
    db.routes.notify({ kind: 'listening', since: db.now });
    await db.routes.find(name);
    for (db.now = 0; db.now < 300_000; db.now += 1_000) {
      db.notify();
      await db.routes.find(name);
    }
    expect(db.asked).toEqual([name]);
    db.notify();
    await db.routes.find(name);
    expect(db.asked).toEqual([name, name]);
  });

  it('is queried again after any interruption of the notifications', async () => {
    db.routes.notify({ kind: 'listening', since: db.now });
    await db.routes.find(name);
    db.now = 60_000;
    db.notify();
    db.routes.notify({ kind: 'listening', since: db.now });
    db.notify();
    await db.routes.find(name);
    expect(db.asked).toEqual([name, name]);
  });
});

describe('A notification', () => {
  it.each([
    ['gone', { kind: 'gone', hostname: name }],
    ['changed', { kind: 'changed', hostname: name }],
    ['its project changed', { kind: 'project_changed', projectId: 'acme' }],
  ] as const)(
    'that a name is %s refreshes this name, and no other project’s',
    async (_what, notification) => {
      db.stored.set(other, route(other, { projectId: 'other' }));
      await Promise.all([db.routes.find(name), db.routes.find(other)]);
      db.stored.set(name, route(name, { upstream: 'http://two.test' }));
      db.routes.notify(notification);
      db.now += 1;
      expect(await db.upstream()).toBe('http://two.test');
      await db.routes.find(name);
      await db.routes.find(other);
      expect(db.asked).toEqual([name, other, name]);
    },
  );

  it('of an unknown name refreshes it', async () => {
    await db.routes.find('new.test');
    db.stored.set('new.test', route('new.test'));
    db.routes.notify({ kind: 'changed', hostname: 'new.test' });
    expect(await db.upstream('new.test')).toBe('http://one.test');
  });

  it.each(['gone', 'changed'] as const)(
    'that a name is %s applies to a query under way',
    async (kind) => {
      const release = db.hold();
      const found = db.routes.find(name);
      db.stored.set(name, route(name, { upstream: 'http://two.test' }));
      db.routes.notify({ kind, hostname: name });
      release();
      expect((await found)?.upstream).toBe('http://two.test');
      expect(await db.upstream()).toBe('http://two.test');
      expect(db.asked).toEqual([name, name]);
    },
  );

  it('of a project applies to earlier queries', async () => {
    const release = db.hold();
    const found = db.routes.find(name);
    db.stored.set(name, route(name, { upstream: 'http://two.test' }));
    db.routes.notify({ kind: 'project_changed', projectId: 'acme' });
    release();
    await found;
    db.now += 1;
    expect(await db.upstream()).toBe('http://two.test');
  });

  it('of very many projects refreshes everything', async () => {
    await db.routes.find(name);
    db.stored.set(name, route(name, { upstream: 'http://two.test' }));
    db.routes.notify({ kind: 'project_changed', projectId: 'acme' });
    for (let n = 0; n < 2_000; n += 1) {
      db.routes.notify({ kind: 'project_changed', projectId: `p${n}` });
    }
    db.now += 1;
    expect(await db.upstream()).toBe('http://two.test');
  });
});

describe('The route cache', () => {
  it('is bounded, and a flood of unknown names evicts no known one', async () => {
    const real = Array.from({ length: 1_000 }, (_, n) => `real${n}.acme.test`);
    for (const hostname of real) db.stored.set(hostname, route(hostname));
    await Promise.all(real.map(db.routes.find));
    for (let n = 0; n < 100_000; n += 1) await db.routes.find(`x${n}.flood.test`);
    expect(db.routes.sizes()).toEqual({ known: 1_000, unknown: 10_000 });
    db.asked = [];
    await Promise.all(real.map(db.routes.find));
    expect(db.asked).toEqual([]);
  });

  it('is bounded for known names, too', async () => {
    for (let n = 0; n < 50_100; n += 1) {
      db.stored.set(`${n}.acme.test`, route(`${n}.acme.test`));
      await db.routes.find(`${n}.acme.test`);
    }
    expect(db.routes.sizes()).toEqual({ known: 50_000, unknown: 0 });
  });
});
