/** What an edge remembers of names, and what has it asked again. */
import { beforeEach, describe, expect, it } from 'vitest';
import { name, other, type RoutesFixture, route, startRoutes } from './support/routes.ts';

let db: RoutesFixture;
beforeEach(() => {
  db = startRoutes();
});

describe('A name', () => {
  it('is asked for once, known or not, however many ask', async () => {
    const names = [name, 'unknown.test', name, 'unknown.test'];
    const found = await Promise.all(names.map(db.routes.find));
    expect(found.map((one) => one?.hostname)).toEqual([name, undefined, name, undefined]);
    await db.routes.find(name);
    expect(await db.routes.find('unknown.test')).toBeNull();
    expect(db.asked).toEqual([name, 'unknown.test']);
  });

  it('is asked for again after three seconds in which nothing was heard', async () => {
    await db.routes.find(name);
    db.stored.delete(name);
    db.now = 2_999;
    expect(await db.routes.find(name)).not.toBeNull();
    db.now = 3_000;
    expect(await db.routes.find(name)).toBeNull();
  });

  it('is not asked for while everything is heard, and at the latest after five minutes', async () => {
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

  it('is asked for again where the listening was interrupted, however short', async () => {
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

describe('News', () => {
  it.each([
    ['gone', { kind: 'gone', hostname: name }],
    ['changed', { kind: 'changed', hostname: name }],
    ['its project changed', { kind: 'project_changed', projectId: 'acme' }],
  ] as const)(
    'of a name (%s) have it asked for again, and no other project’s',
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

  it('of a name that nobody held have it asked for again', async () => {
    await db.routes.find('new.test');
    db.stored.set('new.test', route('new.test'));
    db.routes.notify({ kind: 'changed', hostname: 'new.test' });
    expect(await db.upstream('new.test')).toBe('http://one.test');
  });

  it.each(['gone', 'changed'] as const)(
    'that a name is %s count for a look-up that is under way',
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

  it('of a project count for what was looked up before', async () => {
    const release = db.hold();
    const found = db.routes.find(name);
    db.stored.set(name, route(name, { upstream: 'http://two.test' }));
    db.routes.notify({ kind: 'project_changed', projectId: 'acme' });
    release();
    await found;
    db.now += 1;
    expect(await db.upstream()).toBe('http://two.test');
  });

  it('of very many projects have everything asked for again', async () => {
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

describe('What is remembered', () => {
  it('is bounded, and a flood of names that nobody has drives out no real one', async () => {
    const real = Array.from({ length: 1_000 }, (_, n) => `real${n}.acme.test`);
    for (const hostname of real) db.stored.set(hostname, route(hostname));
    await Promise.all(real.map(db.routes.find));
    for (let n = 0; n < 100_000; n += 1) await db.routes.find(`x${n}.flood.test`);
    expect(db.routes.sizes()).toEqual({ known: 1_000, unknown: 10_000 });
    db.asked = [];
    await Promise.all(real.map(db.routes.find));
    expect(db.asked).toEqual([]);
  });

  it('is bounded for real names, too', async () => {
    for (let n = 0; n < 50_100; n += 1) {
      db.stored.set(`${n}.acme.test`, route(`${n}.acme.test`));
      await db.routes.find(`${n}.acme.test`);
    }
    expect(db.routes.sizes()).toEqual({ known: 50_000, unknown: 0 });
  });
});
