import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createDeployStore } from '../../src/db/deploys.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { gather } from '../../src/db/engine/statements.ts';
import { inTransaction, transact } from '../../src/db/engine/transaction.ts';
import { PrismaClient } from '../../src/db/generated/client.ts';
import { createProjectStore, type ProjectStore } from '../../src/db/projects.ts';
import { noon } from '../support/builders.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

async function slugsIn(store: ProjectStore): Promise<readonly string[]> {
  const all = { hostname: undefined, metadata: undefined };
  const { rows } = await store.list(wholeInstallation, all, { after: null, limit: 100 });
  return rows.map(({ slug }) => slug).sort();
}

const silent = pino({ level: 'silent' });

describe.each(databases)('one transaction around stores, on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  let projects: ProjectStore;

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, silent);
    projects = createProjectStore(database.prisma);
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  const inOne = <T>(work: () => Promise<T>) => transact(database.prisma, work);
  const slugs = () => slugsIn(projects);

  async function create(slug: string): Promise<string> {
    const project = await projects.create(wholeInstallation, aProject(slug));
    return project?.id ?? 'taken';
  }

  it.skipIf(!available)('keeps all of their changes when it commits', async () => {
    const before = await slugs();
    expect(inTransaction()).toBe(false);
    const id = await inOne(async () => {
      expect(inTransaction()).toBe(true);
      const created = await create('kept-1');
      await create('kept-2');
      // A store's own transaction joins it and sees the uncommitted project.
      await createDeployStore(database.prisma).add(
        wholeInstallation,
        created,
        { status: 'succeeded', upstream: 'http://x.test' },
        noon,
      );
      return created;
    });
    expect(inTransaction()).toBe(false);
    expect(await slugs()).toEqual([...before, 'kept-1', 'kept-2'].sort());
    expect(await projects.find(wholeInstallation, id)).toMatchObject({ deployedAt: noon });
  });

  it.skipIf(!available)('leaves no change of any of them when it fails', async () => {
    const before = await slugs();
    const failing = inOne(async () => {
      const id = await create('gone');
      await createDeployStore(database.prisma).add(
        wholeInstallation,
        id,
        { status: 'failed', upstream: 'http://x.test' },
        noon,
      );
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(await slugs()).toEqual(before);
    expect(await database.prisma.deploy.count({ where: { project: { slug: 'gone' } } })).toBe(0);
  });

  it.skipIf(!available)('rolls back only a failed inner transaction', async () => {
    const { prisma } = database;
    await inOne(async () => {
      await create('outer-1');
      const failing = prisma.$transaction(async (tx) => {
        await create('inner-store');
        const id = (
          await tx.project.create({ data: { id: randomUUID(), ...aProject('inner-tx') } })
        ).id;
        await tx.project.create({ data: { id, ...aProject('same-id') } });
      });
      await expect(failing).rejects.toMatchObject({ code: 'P2002' });
      await create('outer-2');
    });
    const kept = await slugs();
    expect(kept).toEqual(expect.arrayContaining(['outer-1', 'outer-2']));
    expect(kept).not.toEqual(expect.arrayContaining(['inner-store']));
    expect(kept).not.toEqual(expect.arrayContaining(['inner-tx']));
  });

  it.skipIf(!available)('runs inner transactions one after the other', async () => {
    const { prisma } = database;
    const outcomes = await inOne(() =>
      Promise.allSettled(
        ['side-1', 'side-2', 'side-3'].map((slug, place) =>
          prisma.$transaction(async () => {
            await create(slug);
            if (place === 1) throw new Error('on purpose');
          }),
        ),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const sides = (await slugs()).filter((slug) => slug.startsWith('side-'));
    expect(sides).toEqual(['side-1', 'side-3']);
  });

  it.skipIf(!available)('accepts a list of statements', async () => {
    const { prisma } = database;
    const id = randomUUID();
    const rows = ['list-1', 'list-2'].map((slug) => ({ id, ...aProject(slug) }));
    await inOne(async () => {
      const twice = prisma.$transaction(rows.map((data) => prisma.project.create({ data })));
      await expect(twice).rejects.toMatchObject({ code: 'P2002' });
      const counts = await prisma.$transaction([
        prisma.project.count({ where: { id } }),
        prisma.$queryRaw`SELECT 1 AS one`,
      ]);
      expect(counts).toEqual([0, [{ one: 1 }]]);
    });
    expect(await projects.find(wholeInstallation, id)).toBeNull();
  });

  it.skipIf(!available)('rejects statements after its end', async () => {
    const { promise: ended, resolve: end } = withResolvers();
    // Not awaited, as by mistake, so it continues after the end.
    const { forgotten } = await inOne(async () => ({
      forgotten: ended.then(() => create('late')),
    }));
    end();
    await expect(forgotten).rejects.toThrow('this transaction has ended');
    expect(await slugs()).not.toContain('late');
  });

  it.skipIf(!available)('fails when an inner transaction was not awaited', async () => {
    const { prisma } = database;
    const { promise: ended, resolve: end } = withResolvers();
    const { promise: begun, resolve: begin } = withResolvers();
    let forgotten: Promise<unknown> | undefined;
    const failing = inOne(async () => {
      await create('hasty-outer');
      forgotten = prisma.$transaction(async () => {
        await create('hasty-inner');
        begin();
        await ended;
      });
      forgotten.catch(() => {});
      await begun;
    });
    await expect(failing).rejects.toThrow('nested transaction is still active');
    end();
    await expect(forgotten).rejects.toThrow();
    expect(await slugs()).not.toEqual(expect.arrayContaining([expect.stringMatching(/^hasty/)]));
  });

  it.skipIf(!available)('runs a batched call inside, separately', async () => {
    const { prisma } = database;
    const batches: string[][] = [];
    const createAll = gather(
      async (wanted: readonly string[]) => {
        batches.push([...wanted]);
        return Promise.all(wanted.map((slug) => create(slug)));
      },
      { itemsMax: 10, concurrency: 1 },
    );
    const undone = transact(prisma, async () => {
      await createAll('gathered-in');
      throw new Error('on purpose');
    });
    const outcomes = await Promise.allSettled([undone, createAll('a-1'), createAll('a-2')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(batches.map((batch) => batch.join()).sort()).toEqual(['a-1,a-2', 'gathered-in']);
    expect(await slugs()).toEqual(expect.arrayContaining(['a-1', 'a-2']));
    expect(await slugs()).not.toContain('gathered-in');
  });

  it.skipIf(!available)('does not affect other databases of the process', async () => {
    const other = await freshStorage(name);
    const second = await openDatabase(other.storage, silent);
    try {
      const elsewhere = createProjectStore(second.prisma);
      const failing = inOne(async () => {
        await create('here');
        await transact(second.prisma, () => elsewhere.create(wholeInstallation, aProject('there')));
        await create('here-too');
        throw new Error('on purpose');
      });
      await expect(failing).rejects.toThrow('on purpose');
      expect(await slugs()).not.toContain('here');
      expect(await slugsIn(elsewhere)).toEqual(['there']);
    } finally {
      await second.close();
      await other.close();
    }
  });
});

it('rejects a client that cannot join', () => {
  const plain = Object.create(PrismaClient.prototype) as PrismaClient; // never connected
  expect(() => transact(plain, async () => {})).toThrow('does not join');
});

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function aProject(slug: string) {
  return { name: slug, slug, plan: 'pro' } as const;
}
