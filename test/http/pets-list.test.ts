import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callApi, databases, errorBody, startTestApi, type TestApi } from './support.ts';

describe.each(databases)('On %s storage', (storage) => {
  let t: TestApi;
  let key: string;
  beforeAll(async () => {
    t = await startTestApi([], { storage });
    key = await t.keyWith('pets:read');
  });
  beforeEach(() => t.prisma.pet.deleteMany());
  afterAll(() => t.close());

  type PetStatus = 'available' | 'pending' | 'sold';
  async function seed(count: number, statusOf: (n: number) => PetStatus = () => 'available') {
    const data = Array.from({ length: count }, (_, n) => ({
      name: `pet ${n}`,
      categoryId: 1n,
      status: statusOf(n),
    }));
    await t.prisma.pet.createMany({ data });
  }

  async function list(query: string) {
    const answer = await callApi(t.api, `GET ${query}`, { key });
    expect(answer.status).toBe(200);
    const pets = answer.body as readonly { id: bigint; name: string; status: string }[];
    const next = /^<([^>]+)>; rel="next"$/.exec(answer.headers['link'] ?? '')?.[1];
    return { pets, names: pets.map(({ name }) => name), ids: pets.map(({ id }) => id), next };
  }

  async function everyPage(first: string) {
    const pages = [];
    for (let query: string | undefined = first; query !== undefined; ) {
      const page = await list(query);
      pages.push(page);
      query = page.next;
    }
    return pages;
  }

  describe('GET /v1/pets', () => {
    test('returns an empty list without a next page for an empty store', async () => {
      const answer = await callApi(t.api, 'GET /v1/pets', { key });
      expect(answer.text).toBe('[]');
      expect(answer.headers).not.toHaveProperty('link');
    });

    test('returns twenty pets by default, in the order of their ids', async () => {
      await seed(21);
      const { ids, next } = await list('/v1/pets');
      expect(ids).toHaveLength(20);
      expect(ids).toEqual([...ids].sort((a, b) => Number(a - b)));
      expect(next).toBeDefined();
    });

    test.each([1, 20, 99, 100])('accepts the limit %i', async (limit) => {
      await seed(101);
      expect((await list(`/v1/pets?limit=${limit}`)).pets).toHaveLength(limit);
    });

    test('has no next page after an exactly full last page', async () => {
      await seed(20);
      expect((await list('/v1/pets?limit=20')).next).toBeUndefined();
    });

    test('returns pets with exactly the documented fields', async () => {
      await seed(1);
      const { pets } = await list('/v1/pets');
      expect(Object.keys(pets[0] ?? {}).sort()).toEqual(['categoryId', 'id', 'name', 'status']);
    });

    test.each(['available', 'pending', 'sold'] as const)('filters by status %s', async (status) => {
      const statuses = ['available', 'pending', 'sold'] as const;
      await seed(9, (n) => statuses[n % 3] ?? 'sold');
      const pages = await everyPage(`/v1/pets?status=${status}&limit=2`);
      expect(pages.map(({ pets }) => pets.length)).toEqual([2, 1]);
      expect(pages.flatMap(({ pets }) => pets).every((pet) => pet.status === status)).toBe(true);
    });

    test('shows every pet once to a client that follows the links', async () => {
      await seed(23);
      const pages = await everyPage('/v1/pets?limit=5');
      expect(pages.map(({ pets }) => pets.length)).toEqual([5, 5, 5, 5, 3]);
      expect(pages.flatMap(({ names }) => names)).toEqual(
        Array.from({ length: 23 }, (_, n) => `pet ${n}`),
      );
    });

    test('neither repeats nor skips a pet when another is deleted or added between pages', async () => {
      await seed(6);
      const first = await list('/v1/pets?limit=3');
      await t.prisma.pet.deleteMany({ where: { id: { in: first.ids } } });
      await seed(1);
      const rest = await everyPage(first.next ?? '');
      expect(rest.flatMap(({ names }) => names)).toEqual(['pet 3', 'pet 4', 'pet 5', 'pet 0']);
    });

    const limitWords = 'limit: must be a whole number from 1 to 100';
    const unknownWords =
      'is not a query parameter of this operation, which accepts limit, status, cursor';
    const cursorWords = 'cursor: must come from a Link header of this list';
    const refused: readonly [query: string, message: string][] = [
      ['limit=abc', limitWords],
      ['limit=0', limitWords],
      ['limit=101', limitWords],
      ['limit=-1', limitWords],
      ['limit=1.5', limitWords],
      ['limit=1e1', limitWords],
      ['limit=010', limitWords],
      ['limit=+5', limitWords],
      ['limit=', limitWords],
      ['limit', limitWords],
      ['limit=%00', limitWords],
      ['limit=5&limit=5', 'limit: is given more than once'],
      ['status=', 'status: must be one of available, pending, sold'],
      ['status=Sold', 'status: must be one of available, pending, sold'],
      ['status=sold&status=pending', 'status: is given more than once'],
      ['cursor=', cursorWords],
      ['cursor=abc', cursorWords],
      ['cursor=AQAAAAAAAAAB%3D', cursorWords],
      ['cursor=AgAAAAAAAAAB', cursorWords],
      ['offset=3', `offset: ${unknownWords}`],
      ['__proto__=3', `__proto__: ${unknownWords}`],
      [
        'limit=0&status=x&page=2',
        `${limitWords}; status: must be one of available, pending, sold; page: ${unknownWords}`,
      ],
    ];
    test.each(refused)('rejects ?%s by name', async (query, message) => {
      const answer = await callApi(t.api, `GET /v1/pets?${query}`, { key });
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual(errorBody(400, 'invalid_query', message));
    });
  });
});
