/** The OpenAPI document against the routes that it is made from, and against docs/interface.md. */
import { describe, expect, it, test } from 'vitest';
import { buildDocument, documentPath } from '../../../src/http/openapi/document.ts';
import { type Operation, type Response, verbs } from '../../../src/http/openapi/model.ts';
import { errors } from '../../../src/http/pipeline/errors.ts';
import { parseJson, renderJson } from '../../../src/net/json.ts';
import { everyRoute } from '../../support/every-route.ts';

const addresses = { baseUrl: undefined, stagingUrl: undefined };
const routes = everyRoute();
const document = buildDocument(routes, addresses);

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  verbs.flatMap((verb) => {
    const operation = item[verb];
    return operation === undefined ? [] : [{ path, verb, operation }];
  }),
);
const operation = (operationId: string) => {
  const found = operations.find((one) => one.operation.operationId === operationId);
  return found?.operation ?? expect.fail(`no operation is called ${operationId}`);
};
const route = (operationId: string) =>
  routes.find((one) => one.operationId === operationId) ??
  expect.fail(`no route is called ${operationId}`);

/** What a reference stands for. */
function whole(response: Operation['responses'][string] | undefined): Response {
  if (response === undefined) expect.fail('no such response');
  if (!('$ref' in response)) return response;
  const name = response.$ref.replace('#/components/responses/', '');
  return document.components.responses[name] ?? expect.fail(`${name} is missing`);
}

/** As it travels: bigint for whole numbers. */
const asParsed = (value: unknown) => {
  const parsed = parseJson(new TextEncoder().encode(renderJson(value)));
  return parsed.ok ? parsed.value : expect.fail('an example is not JSON');
};

describe('the OpenAPI document', () => {
  it('has every route as an operation, and no other', () => {
    const listed = operations.map(({ path, verb, operation: { operationId } }) => ({
      path,
      verb,
      operationId,
    }));
    expect(listed).toEqual(
      expect.arrayContaining(
        routes.map(({ path, method, operationId }) => ({
          path: documentPath(path),
          verb: method.toLowerCase(),
          operationId,
        })),
      ),
    );
    expect(listed).toHaveLength(routes.length);
    expect(routes.length).toBeGreaterThan(20);
  });

  it('is the same, byte for byte, whenever it is made', () => {
    const again = buildDocument(everyRoute(), addresses);
    expect(renderJson(again)).toBe(renderJson(document));
  });

  it('carries version 1.0.0, and servers whose paths end in v1', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
    expect(document.servers).toEqual([{ url: '/v1', description: 'Production' }]);
    const published = buildDocument(routes, {
      baseUrl: 'https://api.example/store/v1',
      stagingUrl: 'https://staging.example/v1',
    });
    expect(published.servers).toEqual([
      { url: 'https://api.example/store/v1', description: 'Production' },
      { url: 'https://staging.example/v1', description: 'Staging' },
    ]);
    expect(published.paths['/healthz']?.servers).toEqual([
      { url: 'https://api.example/store', description: 'Production' },
      { url: 'https://staging.example', description: 'Staging' },
    ]);
    expect(document.paths['/healthz']?.servers).toEqual([{ url: '/', description: 'Production' }]);
  });

  it('lists every error code, each with an example, where it can be met', () => {
    const met = operations.flatMap(({ operation: { responses } }) =>
      Object.values(responses).flatMap((response) =>
        Object.keys(whole(response).content?.['application/json']?.examples ?? {}),
      ),
    );
    expect([...new Set(met)].sort()).toEqual(Object.keys(errors).sort());
    expect(document.components.schemas['ErrorCode']?.enum).toEqual(Object.keys(errors));
    for (const [code, [status, message]] of Object.entries(errors)) {
      expect(document.components.examples[code]).toEqual({ value: { code, message, status } });
    }
  });

  it('keeps int64 whole: an integer in 64 bits, without bounds that a double would round', () => {
    const int64 = { type: 'integer', format: 'int64' };
    const { Pet, NewPet, Event } = document.components.schemas;
    expect(Pet?.properties).toMatchObject({ id: int64, categoryId: int64 });
    expect(NewPet?.properties).toMatchObject({ categoryId: int64 });
    expect(Event?.oneOf?.map((one) => (one as typeof Event).properties?.['id'])).toContainEqual(
      expect.objectContaining(int64),
    );
    expect(renderJson(document)).not.toMatch(/imum":-?\d{16}/);
  });
});

describe.each(routes.map(({ operationId }) => operationId))('%s', (operationId) => {
  const documented = operation(operationId);
  const declared = route(operationId);

  it('has a stability, a tag and words', () => {
    expect(['stable', 'beta', 'experimental']).toContain(documented['x-stability']);
    expect(document.tags.map(({ name }) => name)).toContain(documented.tags[0]);
    expect(documented.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(documented.description).toMatch(/^[A-Z][\s\S]*\.$/);
  });

  it('says which key it needs', () => {
    const { scope } = declared;
    expect(documented.security).toEqual(scope === null ? [] : [{ bearer: [] }]);
    expect(documented['x-required-scope']).toBe(scope ?? undefined);
    expect(documented.description).toContain(scope === null ? 'no key' : scope);
    expect(Object.keys(documented.responses).includes('401')).toBe(scope !== null);
  });

  it('has an example of its answer that fits', () => {
    const { schema, status, mediaType } = declared.success;
    const { content } = whole(documented.responses[status]);
    if (status === 204) return expect(content).toBeUndefined();
    const example = content?.[mediaType ?? 'application/json']?.example;
    expect(example).toBeDefined();
    if (schema !== undefined) expect(() => schema.parse(asParsed(example))).not.toThrow();
  });

  it('has an example of its body that fits', () => {
    const { body } = declared;
    const example = documented.requestBody?.content['application/json'].example;
    expect(example !== undefined).toBe(body !== undefined);
    if (body !== undefined) expect(() => body.parse(asParsed(example))).not.toThrow();
  });
});

describe('what docs/interface.md lists', () => {
  const listed: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['listPets', ['200', '401'], ['limit', 'status']],
    ['createPet', ['201', '400', '401'], []],
    ['getPet', ['200', '401', '404'], ['petId']],
  ];

  test.each(listed)('of %s is unmarked: %j %j; all else is an addition', (id, statuses, names) => {
    const { responses, parameters, ...rest } = operation(id);
    expect(rest['x-addition']).toBeUndefined();
    const unmarked = Object.entries(responses).filter(([, one]) => !whole(one)['x-addition']);
    expect(unmarked.map(([status]) => status)).toEqual(statuses);
    const own = parameters.flatMap((one) => ('$ref' in one || one['x-addition'] ? [] : [one.name]));
    expect(own).toEqual(names);
    const headers = Object.values(responses).flatMap((one) => Object.values(whole(one).headers));
    expect(headers.filter((one) => !('$ref' in one) && !one['x-addition'])).toEqual([]);
  });

  it('are three operations; every other one is an addition', () => {
    const unmarked = operations.filter((one) => !one.operation['x-addition']);
    expect(unmarked.map((one) => one.operation.operationId)).toEqual(listed.map(([id]) => id));
  });

  it('is a limit from 1 to 100, 20 where it is left out', () => {
    expect(operation('listPets').parameters[0]).toMatchObject({
      name: 'limit',
      in: 'query',
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
  });

  it('is that getPet alone is deprecated', () => {
    const deprecated = operations.filter((one) => one.operation.deprecated);
    expect(deprecated.map((one) => one.operation.operationId)).toEqual(['getPet']);
  });

  const shapes: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['NewPet', ['name', 'categoryId', 'status'], ['name', 'categoryId']],
    ['Pet', ['id', 'name', 'categoryId', 'status'], ['id', 'name', 'categoryId', 'status']],
    ['Error', ['code', 'message', 'status'], ['code', 'message', 'status']],
  ];
  test.each(shapes)('is the shape of %s: %j, required %j', (name, fields, required) => {
    const schema = document.components.schemas[name];
    expect(Object.keys(schema?.properties ?? {})).toEqual(fields);
    expect(schema?.required).toEqual(required);
  });

  it('is which values a status has', () => {
    expect(document.components.schemas['PetStatus']?.enum).toEqual([
      'available',
      'pending',
      'sold',
    ]);
  });
});
