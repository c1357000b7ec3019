import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { databasesOfRun } from '../support/storage.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

describe.each(databasesOfRun().filter(({ available }) => available))(
  'On $name storage',
  ({ name }) => {
    let t: TestApi;
    let key: string;
    beforeAll(async () => {
      t = await startTestApi([], { storage: name });
      key = await t.keyWith('pets:read', 'pets:write');
    });
    beforeEach(() => t.prisma.pet.deleteMany());
    afterAll(() => t.close());

    const MIN = -(2n ** 63n);
    const MAX = 2n ** 63n - 1n;

    async function expectExact(digits: string, stored: string = digits): Promise<void> {
      const raw = `{"name":"a","categoryId":${digits}}`;
      const created = await callApi(t.api, 'POST /v1/pets', { key, raw });
      const field = new RegExp(`"categoryId":${stored}[,}]`);
      expect(created.text).toMatch(field);
      const got = await callApi(t.api, `GET ${created.headers['location']}`, { key });
      expect(got.text).toMatch(field);
    }

    test.each([MIN, MIN + 1n, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, MAX - 1n, MAX])(
      'a categoryId of %s is returned digit for digit',
      async (categoryId) => {
        await expectExact(String(categoryId));
        const listed = await callApi(t.api, 'GET /v1/pets', { key });
        expect(listed.text).toContain(`"categoryId":${categoryId}`);
      },
    );

    test('any int64 categoryId is returned digit for digit', async () => {
      const any = fc.bigInt({ min: MIN, max: MAX });
      await fc.assert(
        fc.asyncProperty(any, (categoryId) => expectExact(String(categoryId))),
        { numRuns: 25 },
      );
    });

    test('minus zero is stored as zero', () => expectExact('-0', '0'));

    const refused: readonly [digits: string, code: string][] = [
      ['9223372036854775808', 'invalid_body'],
      ['-9223372036854775809', 'invalid_body'],
      ['1'.repeat(60), 'invalid_body'],
      ['1.5', 'invalid_body'],
      ['1.0', 'invalid_body'],
      ['1e3', 'invalid_body'],
      ['"7"', 'invalid_body'],
      ['007', 'malformed_json'],
      ['+7', 'malformed_json'],
      ['0x7', 'malformed_json'],
      ['1,"categoryId":1', 'malformed_json'],
    ];
    test.each(refused)('a categoryId of %s is rejected', async (digits, code) => {
      const raw = `{"name":"a","categoryId":${digits}}`;
      const answer = await callApi(t.api, 'POST /v1/pets', { key, raw });
      expect(answer.body).toEqual(errorBody(400, code));
      expect(await t.prisma.pet.count()).toBe(0);
    });

    test('ids are exact at both ends, in paths, lists and page cursors', async () => {
      const ids = [MIN, -1n, 0n, 2n ** 53n + 1n, MAX - 1n, MAX];
      await t.prisma.pet.createMany({
        data: ids.map((id) => ({ id, name: 'a', categoryId: 1n })),
      });
      for (const id of ids) {
        const { text } = await callApi(t.api, `GET /v1/pets/${id}`, { key });
        expect(text).toMatch(new RegExp(`"id":${id}[,}]`));
      }
      const listed: string[] = [];
      for (let target: string | undefined = '/v1/pets?limit=1'; target !== undefined; ) {
        const { text, headers } = await callApi(t.api, `GET ${target}`, { key });
        listed.push(...(text.match(/(?<="id":)-?\d+/g) ?? []));
        target = /^<(.*)>; rel="next"$/.exec(headers['link'] ?? '')?.[1];
      }
      expect(listed).toEqual(ids.map(String));
    });
  },
);
