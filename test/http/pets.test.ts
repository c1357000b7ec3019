import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callApi, databases, errorBody, startTestApi, type TestApi } from './support.ts';

describe.each(databases)('On %s storage', (storage) => {
  let t: TestApi;
  let key: string;
  beforeAll(async () => {
    t = await startTestApi([], { storage });
    key = await t.keyWith('pets:read', 'pets:write');
  });
  afterAll(() => t.close());

  async function addPet(json: unknown): Promise<bigint> {
    const { body } = await callApi(t.api, 'POST /v1/pets', { key, json });
    return (body as { id: bigint }).id;
  }

  describe('POST /v1/pets', () => {
    test('adds a pet and returns its location', async () => {
      const json = { name: 'Rex', categoryId: 7, status: 'sold' };
      const { status, headers, body } = await callApi(t.api, 'POST /v1/pets', { key, json });
      const id = (body as { id: bigint }).id;
      expect(status).toBe(201);
      expect(headers['location']).toBe(`/v1/pets/${id}`);
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(body).toEqual({ id, name: 'Rex', categoryId: 7n, status: 'sold' });
      expect((await callApi(t.api, `GET /v1/pets/${id}`, { key })).body).toEqual(body);
    });

    test('makes a pet available by default', async () => {
      const { body } = await callApi(t.api, 'POST /v1/pets', {
        key,
        json: { name: 'A', categoryId: 1 },
      });
      expect(body).toMatchObject({ status: 'available' });
    });

    test.each([255, 1])('stores a name of %i characters unchanged', async (length) => {
      const name = '🐕'.repeat(length);
      const { body } = await callApi(t.api, 'POST /v1/pets', {
        key,
        json: { name, categoryId: 1 },
      });
      expect(body).toMatchObject({ name });
    });

    const wholeNumber =
      'categoryId: must be a whole number from -9223372036854775808 to 9223372036854775807';
    const nameWords = 'name: must be a string of 1 to 255 characters, without NUL';
    const statusWords = 'status: must be one of available, pending, sold';
    const refused: readonly [what: string, raw: string, message: string][] = [
      ['no fields', '{}', 'name: is required; categoryId: is required'],
      ['no name', '{"categoryId":1}', 'name: is required'],
      ['an empty name', '{"name":"","categoryId":1}', nameWords],
      ['a long name', `{"name":"${'x'.repeat(256)}","categoryId":1}`, nameWords],
      ['NUL in the name', '{"name":"a\\u0000b","categoryId":1}', nameWords],
      ['half a surrogate pair', '{"name":"\\ud83d","categoryId":1}', nameWords],
      ['a number as name', '{"name":1,"categoryId":1}', nameWords],
      ['null as name', '{"name":null,"categoryId":1}', nameWords],
      ['a text as categoryId', '{"name":"a","categoryId":"7"}', wholeNumber],
      ['null as categoryId', '{"name":"a","categoryId":null}', wholeNumber],
      ['an unknown status', '{"name":"a","categoryId":1,"status":"lost"}', statusWords],
      ['null as status', '{"name":"a","categoryId":1,"status":null}', statusWords],
      [
        'an unknown field',
        '{"name":"a","categoryId":1,"color":"red"}',
        'color: is not a known field',
      ],
      ['an id', '{"id":1,"name":"a","categoryId":1}', 'id: is not a known field'],
      [
        '__proto__',
        '{"name":"a","categoryId":1,"__proto__":{}}',
        '__proto__: is not a known field',
      ],
      [
        'several at once',
        '{"name":"a","categoryId":1.5,"color":1}',
        `${wholeNumber}; color: is not a known field`,
      ],
      ['a list', '[]', 'body: must be an object'],
      ['null', 'null', 'body: must be an object'],
    ];
    test.each(refused)('rejects %s by name and stores nothing', async (_what, raw, message) => {
      const before = await t.prisma.pet.count();
      const answer = await callApi(t.api, 'POST /v1/pets', { key, raw });
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual(errorBody(400, 'invalid_body', message));
      expect(await t.prisma.pet.count()).toBe(before);
    });

    test('rejects a query', async () => {
      const json = { name: 'a', categoryId: 1 };
      const { body } = await callApi(t.api, 'POST /v1/pets?dry=1', { key, json });
      expect(body).toEqual(
        errorBody(
          400,
          'invalid_query',
          'dry: is not a query parameter of this operation, which accepts none',
        ),
      );
    });
  });

  describe('GET /v1/pets/{petId}', () => {
    const noAnimal = [
      '0',
      '-1',
      '999999',
      '-0',
      '007',
      '+1',
      '1.0',
      '1e3',
      'abc',
      '%31%00',
      '0x1',
      '9223372036854775808',
      '-9223372036854775809',
      '9'.repeat(40),
    ];
    test.each(noAnimal)('answers 404 to the id %s', async (petId) => {
      const answer = await callApi(t.api, `GET /v1/pets/${petId}`, { key });
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual(errorBody(404, 'pet_not_found'));
    });

    test('announces its deprecation, end date and replacement in every response', async () => {
      const id = await addPet({ name: 'Old', categoryId: 1 });
      const asked = [
        [`${id}`, 200, key],
        ['0', 404, key],
        ['0?color=red', 400, key],
        [`${id}`, 401, 'no key at all'],
      ] as const;
      for (const [petId, expected, ownKey] of asked) {
        const { status, headers } = await callApi(t.api, `GET /v1/pets/${petId}`, { key: ownKey });
        expect(status).toBe(expected);
        expect(headers['deprecation']).toMatch(/^@\d+$/);
        expect(Number(headers['deprecation']?.slice(1)) * 1_000).toBeLessThan(
          Date.UTC(2030, 11, 5),
        );
        expect(headers['sunset']).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
        expect(headers['link']).toBe('</v1/pets>; rel="successor-version"');
      }
    });

    test('works until 5 December 2030 and answers 410 from that day', async () => {
      const id = await addPet({ name: 'Last', categoryId: 1 });
      const today = t.clock.now;
      t.clock.now = new Date('2030-12-04T23:59:59.999Z');
      expect((await callApi(t.api, `GET /v1/pets/${id}`, { key })).status).toBe(200);
      t.clock.now = new Date('2030-12-05T00:00:00Z');
      const gone = await callApi(t.api, `GET /v1/pets/${id}?color=red`, { key });
      t.clock.now = today;
      expect(gone.status).toBe(410);
      expect(gone.body).toEqual(errorBody(410, 'gone'));
      expect(gone.headers['link']).toContain('successor-version');
    });
  });
});
