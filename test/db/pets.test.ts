import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { transact } from '../../src/db/engine/transaction.ts';
import { createPetStore, type NewPet, type PetPage, type PetStore } from '../../src/db/pets.ts';
import { databasesOfRun, type FreshStorage, freshStorage } from '../support/storage.ts';

type StoredPet = NewPet & { readonly id: bigint };

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const anyInt64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc.constantFrom(INT64_MIN, -1n, 0n, 1n, 2n ** 53n + 1n, INT64_MAX),
);
const anyStatus = fc.constantFrom('available' as const, 'pending' as const, 'sold' as const);
const awkwardNames = [
  ...['"', '\\', "'", '\\"', '{}', '{"a",NULL}', 'NULL', ',', '\n', '\r\n', '\t', '\b\f\v', ' '],
  ...[
    '\u0001',
    '\u001f',
    '\u007f',
    '\u0085',
    '\u2028',
    '\u2029',
    '\ufeff',
    '\u{10ffff}',
    '🐕‍🦺',
    'é',
    'ﷺ',
  ],
  ...[',{"id":', '"},{"id":1,"name":"', '\\u0041', '%s $1 :x ?', "'; DROP TABLE pet; --"],
  'x'.repeat(255),
  '🐈'.repeat(255),
];
/** Names that the API accepts: 1 to 255 characters without NUL or lone surrogates. */
const anyName = fc.oneof(
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 255 })
    .filter((name) => !name.includes('\0')),
  fc.constantFrom(...awkwardNames),
);
const anyPet: fc.Arbitrary<NewPet> = fc.record({
  name: anyName,
  categoryId: anyInt64,
  status: anyStatus,
});

/** The Pet of docs/interface.md, with its numbers written out. */
function textOf({ id, name, categoryId, status }: StoredPet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

describe.each(databasesOfRun())('pets on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  let pets: PetStore;

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    pets = createPetStore(database, { concurrency: name === 'embedded' ? 1 : 2 });
  });
  beforeEach(async () => {
    if (available) await database.prisma.pet.deleteMany();
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  const page = (parts: Partial<PetPage> = {}): PetPage => ({
    after: null,
    status: null,
    limit: 100,
    ...parts,
  });

  it.skipIf(!available)('are stored and returned exactly as given', async () => {
    const property = fc.asyncProperty(
      fc.array(anyPet, { minLength: 1, maxLength: 20 }),
      async (given) => {
        const created = await Promise.all(given.map(pets.create));
        const expected = given.map((pet, place) =>
          textOf({ id: created[place]?.id ?? 0n, ...pet }),
        );
        expect(created.map(({ json }) => json)).toEqual(expected);
        expect(await Promise.all(created.map(({ id }) => pets.get(id)))).toEqual(expected);
        const stored = await database.prisma.pet.findMany({
          where: { id: { in: created.map(({ id }) => id) } },
        });
        expect(stored.map(textOf).sort()).toEqual(expected.sort());
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it.skipIf(!available)('are listed in pages by ID over the whole range of int64', async () => {
    const anyStored = fc.uniqueArray(
      fc.record({ id: anyInt64, name: anyName, categoryId: anyInt64, status: anyStatus }),
      { selector: ({ id }) => id, maxLength: 30 },
    );
    const property = fc.asyncProperty(
      anyStored,
      fc.integer({ min: 1, max: 12 }),
      fc.option(anyStatus, { nil: null }),
      fc.option(anyInt64, { nil: null }),
      async (stored, limit, status, after) => {
        await database.prisma.pet.deleteMany();
        await database.prisma.pet.createMany({ data: stored });
        const wanted = stored
          .filter(
            (pet) => (after === null || pet.id > after) && pet.status === (status ?? pet.status),
          )
          .sort((a, b) => (a.id < b.id ? -1 : 1))
          .map(textOf);
        for (let from = after, start = 0; ; start += limit) {
          const { json, next } = await pets.list({ after: from, status, limit });
          expect(json).toBe(`[${wanted.slice(start, start + limit).join()}]`);
          expect(next !== null).toBe(start + limit < wanted.length);
          if (next === null) return;
          from = next;
        }
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it.skipIf(!available)('requested together are returned to the right callers', async () => {
    const created = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        pets.create({
          name: `pet ${n}`,
          categoryId: BigInt(n),
          status: n % 2 ? 'sold' : 'pending',
        }),
      ),
    );
    const ids = created.map(({ id }) => id);
    const [some, none, first, sold, rest] = await Promise.all([
      Promise.all([...ids, ...ids].map(pets.get)),
      pets.get(INT64_MAX),
      pets.list(page({ limit: 3 })),
      pets.list(page({ status: 'sold', limit: 2 })),
      pets.list(page({ after: ids[37] ?? 0n })),
    ]);
    const json = created.map((pet) => pet.json);
    expect(some).toEqual([...json, ...json]);
    expect(none).toBeNull();
    expect(first).toEqual({ json: `[${json.slice(0, 3).join()}]`, next: ids[2] });
    expect(sold).toEqual({ json: `[${json[1]},${json[3]}]`, next: ids[3] });
    expect(rest).toEqual({ json: `[${json.slice(38).join()}]`, next: null });
  });

  it.skipIf(!available)('created in a burst take a few statements, not one each', async () => {
    const query = vi.spyOn(database.pool, 'query');
    try {
      const names = Array.from({ length: 300 }, (_, n) => `pet ${n}`);
      const created = await Promise.all(
        names.map((each) => pets.create({ name: each, categoryId: 1n, status: 'sold' })),
      );
      expect(new Set(created.map(({ id }) => id)).size).toBe(300);
      expect(created.map(({ json }) => JSON.parse(json).name)).toEqual(names);
      expect(await database.prisma.pet.count()).toBe(300);
      const ofPets = query.mock.calls.filter(
        ([asked]) => (asked as { readonly name?: string }).name === 'pets_create',
      );
      expect(ofPets).toHaveLength(1);
    } finally {
      query.mockRestore();
    }
  });

  it.skipIf(!available)('created in a transaction are rolled back when it fails', async () => {
    const rex: NewPet = { name: 'Rex', categoryId: 1n, status: 'sold' };
    const failing = transact(database.prisma, async () => {
      const { id, json } = await pets.create({ ...rex, status: 'pending' });
      expect(await pets.get(id)).toBe(json);
      expect((await pets.list(page())).json).toContain(json);
      const pending = await pets.list(page({ status: 'pending' }));
      expect(pending).toEqual({ json: `[${json}]`, next: null });
      throw new Error('on purpose');
    });
    // Outside of the transaction, so not rolled back with it.
    const beside = Promise.all([pets.create(rex), pets.create(rex)]);
    await expect(failing).rejects.toThrow('on purpose');
    const json = (await beside).map((pet) => pet.json).sort();
    expect((await pets.list(page())).json).toBe(`[${json.join()}]`);
  });

  it.skipIf(!available)('created in a transaction are as exact as the others', async () => {
    const created = await transact(database.prisma, () =>
      Promise.all(
        awkwardNames.map((each) =>
          pets.create({ name: each, categoryId: INT64_MIN, status: 'sold' }),
        ),
      ),
    );
    const expected = created.map(({ id }, place) =>
      textOf({ id, name: awkwardNames[place] ?? '', categoryId: INT64_MIN, status: 'sold' }),
    );
    expect(created.map(({ json }) => json)).toEqual(expected);
    expect(await Promise.all(created.map(({ id }) => pets.get(id)))).toEqual(expected);
  });

  it.skipIf(!available)('are never read in a state from before an acknowledged write', async () => {
    const { id } = await pets.create({ name: 'version 0', categoryId: 1n, status: 'sold' });
    const watched = {
      get: () => pets.get(id),
      list: async () => (await pets.list(page())).json,
    };
    let writing = true;
    // A constant stream of equal reads, so that one is always in progress.
    const stream = Array.from({ length: 12 }, async (_, n) => {
      while (writing) await (n % 2 ? watched.get() : watched.list());
    });
    for (let version = 1; version <= 150; version += 1) {
      await database.prisma.pet.update({ where: { id }, data: { name: `version ${version}` } });
      const [one, list] = await Promise.all([watched.get(), watched.list()]);
      expect(one).toContain(`"version ${version}"`);
      expect(list).toContain(`"version ${version}"`);
    }
    writing = false;
    await Promise.all(stream);
  });
});
