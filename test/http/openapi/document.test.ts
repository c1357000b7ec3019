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

/** Resolves a reference. */
function whole(response: Operation['responses'][string] | undefined): Response {
  if (response === undefined) expect.fail('no such response');
  if (!('$ref' in response)) return response;
  const name = response.$ref.replace('#/components/responses/', '');
  return document.components.responses[name] ?? expect.fail(`${name} is missing`);
}

/** As sent: bigint for whole numbers. */
const asParsed = (value: unknown) => {
  const parsed = parseJson(new TextEncoder().encode(renderJson(value)));
  return parsed.ok ? parsed.value : expect.fail('an example is not JSON');
};

describe('The OpenAPI document', () => {
  it('has exactly one operation for each route', () => {
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

  it('is byte-for-byte reproducible', () => {
    const again = buildDocument(everyRoute(), addresses);
    expect(renderJson(again)).toBe(renderJson(document));
  });

  it('has version 1.0.0 and servers whose paths end in v1', () => {
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

  it('lists every error code with an example wherever it can occur', () => {
    const met = operations.flatMap(({ operation: { responses } }) =>
      Object.values(responses).flatMap((response) =>
        Object.keys(whole(response).content?.['application/json']?.examples ?? {}),
      ),
    );
    expect([...new Set(met)].sort()).toEqual(Object.keys(errors).sort());
    expect(document.components.schemas['ErrorCode']?.enum).toEqual(Object.keys(errors));
    for (const [code, [status, message]] of Object.entries(errors)) {
      const docs = `/docs/errors#${code}`;
      const value = { code, message, status, requestId: expect.any(String), docs };
      expect(document.components.examples[code]).toEqual({ value });
    }
  });

  it('declares int64 integers without bounds that a double would round', () => {
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

describe.each(routes.map(({ operationId }) => operationId))('The operation %s', (operationId) => {
  const documented = operation(operationId);
  const declared = route(operationId);

  it('is stable if it is about projects, domains, events, webhooks or keys', () => {
    const settled = ['Pets', 'Projects', 'Domains', 'Events', 'Webhooks', 'Keys'];
    const moving = ['diagnoseHostname', 'readHostname'];
    const { tags, operationId } = documented;
    if (!settled.includes(tags[0] ?? '') || moving.includes(operationId)) return;
    expect(documented['x-stability']).toBe('stable');
  });

  it('has a stability, a tag and a description', () => {
    expect(['stable', 'beta', 'experimental']).toContain(documented['x-stability']);
    expect(document.tags.map(({ name }) => name)).toContain(documented.tags[0]);
    expect(documented.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(documented.description).toMatch(/^[A-Z][\s\S]*\.$/);
  });

  it('names the key that it requires', () => {
    const { scope } = declared;
    expect(documented.security).toEqual(scope === null ? [] : [{ bearer: [] }]);
    expect(documented['x-required-scope']).toBe(scope ?? undefined);
    expect(documented.description).toContain(scope === null ? 'no key' : scope);
    expect(Object.keys(documented.responses).includes('401')).toBe(scope !== null);
  });

  it('has a valid response example', () => {
    const { schema, status, mediaType } = declared.success;
    const { content } = whole(documented.responses[status]);
    if (status === 204) return expect(content).toBeUndefined();
    const example = content?.[mediaType ?? 'application/json']?.example;
    expect(example).toBeDefined();
    if (schema !== undefined) expect(() => schema.parse(asParsed(example))).not.toThrow();
  });

  it('has a valid body example', () => {
    const { body } = declared;
    const example = documented.requestBody?.content['application/json'].example;
    expect(example !== undefined).toBe(body !== undefined);
    if (body !== undefined) expect(() => body.parse(asParsed(example))).not.toThrow();
  });
});

describe('The contract of docs/interface.md', () => {
  const listed: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['listPets', ['200', '401'], ['limit', 'status']],
    ['createPet', ['201', '400', '401'], []],
    ['getPet', ['200', '401', '404'], ['petId']],
  ];

  test.each(listed)('leaves %s unmarked: %j %j; the rest is added', (id, statuses, names) => {
    const { responses, parameters, ...rest } = operation(id);
    expect(rest['x-addition']).toBeUndefined();
    const unmarked = Object.entries(responses).filter(([, one]) => !whole(one)['x-addition']);
    expect(unmarked.map(([status]) => status)).toEqual(statuses);
    const own = parameters.flatMap((one) => ('$ref' in one || one['x-addition'] ? [] : [one.name]));
    expect(own).toEqual(names);
    const headers = Object.values(responses).flatMap((one) => Object.values(whole(one).headers));
    expect(headers.filter((one) => !('$ref' in one) && !one['x-addition'])).toEqual([]);
  });

  it('covers three operations; every other one is an addition', () => {
    const unmarked = operations.filter((one) => !one.operation['x-addition']);
    expect(unmarked.map((one) => one.operation.operationId)).toEqual(listed.map(([id]) => id));
  });

  it('sets limit from 1 to 100 with a default of 20', () => {
    expect(operation('listPets').parameters[0]).toMatchObject({
      name: 'limit',
      in: 'query',
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
  });

  it('deprecates getPet alone', () => {
    const deprecated = operations.filter((one) => one.operation.deprecated);
    expect(deprecated.map((one) => one.operation.operationId)).toEqual(['getPet']);
  });

  const shapes: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['NewPet', ['name', 'categoryId', 'status'], ['name', 'categoryId']],
    ['Pet', ['id', 'name', 'categoryId', 'status'], ['id', 'name', 'categoryId', 'status']],
    ['Error', ['code', 'message', 'status'], ['code', 'message', 'status']],
  ];
  test.each(shapes)('sets the shape of %s: %j, required %j', (name, fields, required) => {
    const schema = document.components.schemas[name];
    const own = Object.entries(schema?.properties ?? {}).filter(
      ([, one]) => typeof one === 'boolean' || one['x-addition'] !== true,
    );
    expect(own.map(([field]) => field)).toEqual(fields);
    expect(schema?.required).toEqual(required);
  });

  it('sets the values of a status', () => {
    expect(document.components.schemas['PetStatus']?.enum).toEqual([
      'available',
      'pending',
      'sold',
    ]);
  });
});
