/** The OpenAPI document, made from the routes that answer: what validates is what is documented. */
import type { ApiConfig } from '../../config/config.ts';
import { type Route, tags } from '../pipeline/route.ts';
import { type ParamName, params } from '../pipeline/validate.ts';
import { createSchemaWriter, type SchemaWriter } from './json-schema.ts';
import type {
  JsonSchema,
  OpenApiDocument,
  Operation,
  Parameter,
  PathItem,
  Ref,
  Server,
} from './model.ts';
import {
  apiDescription,
  hasEntityTag,
  keyDescription,
  tagDescriptions,
  takesAccount,
  takesIdempotencyKey,
} from './refusals.ts';
import { errorExamples, responsesOf, sharedHeaders, sharedResponses } from './responses.ts';

/** The version that the interface document carries (part 9). */
export const API_VERSION = '1.0.0';
/** What routes of the API begin with, and the servers' URLs end in. */
const BASE_PATH = '/v1';

/** Where clients reach the API; without them, its URLs are relative to where the document is read. */
type Addresses = Pick<ApiConfig, 'baseUrl' | 'stagingUrl'>;

/**
 * Describes every route, in the order given. The same routes and addresses give the same document, field by field. Throws
 * where two schemas that differ have one name.
 */
export function buildDocument(routes: readonly Route[], addresses: Addresses): OpenApiDocument {
  const schemas = createSchemaWriter();
  const paths: Record<string, PathItem> = {};
  for (const route of routes) {
    const path = documentPath(route.path);
    // Routes of one path share its entry; each adds the operation of its method.
    paths[path] = {
      ...(isVersioned(route.path) ? {} : { servers: rootServers(addresses) }),
      ...paths[path],
      [route.method.toLowerCase()]: operationOf(route, schemas),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signpost',
      version: API_VERSION,
      summary: "A store's pets API, and customers' own domains that go live by themselves.",
      description: apiDescription,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: servers(addresses),
    tags: tags
      .filter((name) => routes.some(({ tag }) => tag === name))
      .map((name) => ({ name, description: tagDescriptions[name] })),
    paths,
    components: {
      securitySchemes: {
        [SECURITY_SCHEME]: { type: 'http', scheme: 'bearer', description: keyDescription },
      },
      parameters: sharedParameters,
      headers: sharedHeaders(),
      responses: sharedResponses(schemas),
      examples: errorExamples(),
      schemas: schemas.components(),
    },
  };
}

/**
 * The path as the document has it: `/v1/pets/:petId` is `/pets/{petId}` below the servers, whose URLs end in `v1`. A path
 * without the version only gets its braces.
 */
export function documentPath(path: string): string {
  const below = isVersioned(path) ? path.slice(BASE_PATH.length) : path;
  return below.replace(/:(\w+)/g, '{$1}');
}

/** Whether a path is below `/v1`. Probes, the document and its pages are not. */
function isVersioned(path: string): boolean {
  return path.startsWith(`${BASE_PATH}/`);
}

/** Production first; staging where it is configured. */
function servers({ baseUrl = BASE_PATH, stagingUrl }: Addresses): readonly Server[] {
  return [
    { url: baseUrl, description: 'Production' },
    ...(stagingUrl === undefined ? [] : [{ url: stagingUrl, description: 'Staging' }]),
  ];
}

/** The same servers without `/v1`, for paths that carry no version. */
function rootServers(addresses: Addresses): readonly Server[] {
  return servers(addresses).map(({ url, description }) => ({
    url: url.slice(0, -BASE_PATH.length) || '/',
    description,
  }));
}

/** The name of the bearer scheme among the components. */
export const SECURITY_SCHEME = 'bearer';

/**
 * Describes one route: what it takes, what it answers and the scope that it needs. Schemas that have a name are added to
 * `schemas` and referred to. `x-addition` marks what the interface document does not have.
 */
export function operationOf(route: Route, schemas: SchemaWriter): Operation {
  const { operationId, tag, summary, deprecated, stability, scope, original } = route;
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(route),
    ...(deprecated && { deprecated }),
    'x-stability': stability,
    ...(original === undefined && ({ 'x-addition': true } as const)),
    ...(scope !== null && { 'x-required-scope': scope }),
    security: scope === null ? [] : [{ [SECURITY_SCHEME]: [] }],
    parameters: parametersOf(route, schemas),
    ...requestBodyOf(route, schemas),
    responses: responsesOf(route, schemas),
  };
}

/** The description ends in which key is needed. */
function descriptionOf({ description, scope, operators }: Route): string {
  const key = operators ? `${needsKey(scope)} Only for keys of the installation.` : needsKey(scope);
  return description === undefined ? key : `${description}\n\n${key}`;
}

/** A sentence, Markdown like the rest of the description. */
function needsKey(scope: Route['scope']): string {
  if (scope === null) return 'Needs no key.';
  return scope === 'any'
    ? 'Needs any key, whatever its scopes.'
    : `Needs a key with the scope \`${scope}\`.`;
}

/** Nothing for a route without a schema for its body, which does not read one. */
function requestBodyOf({ body, bodyExample, bodyIsOptional }: Route, schemas: SchemaWriter) {
  if (body === undefined) return {};
  const json = { schema: schemas.input(body), example: bodyExample };
  return {
    requestBody: { required: bodyIsOptional !== true, content: { 'application/json': json } },
  };
}

/** Headers that many operations read, by the names of their components. The interface document lists none. */
export const sharedParameters = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A key of your own for this request: sent again with the same key, it has its effect once and its answer each time, for 24 hours. In quotes, or bare.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
    'x-addition': true,
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the version that the change is made to: where it is not the same any more, the answer is 412 and nothing changes',
    schema: { type: 'string' },
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
    'x-addition': true,
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of the version that you have: the answer is 304 while it is the same',
    schema: { type: 'string' },
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
    'x-addition': true,
  },
  'Signpost-Account': {
    name: 'Signpost-Account',
    in: 'header',
    description:
      'The account that a key of the installation acts for: the request then reaches what is in it, and nothing else',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1e0-4b1d-4f0a-8c2e-6a9d3e5f7b21',
    'x-addition': true,
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The number of the last event that you have: everything after it comes first',
    schema: { type: 'string', pattern: '^[0-9]{1,40}$' },
    example: '41',
    'x-addition': true,
  },
} as const satisfies Readonly<Record<string, Parameter>>;

/**
 * Parameters of the path and the query, then references to the headers that the route reads. Where the interface document
 * has the operation, what it does not list is marked `x-addition`; an operation that is an addition itself marks none.
 */
export function parametersOf(route: Route, schemas: SchemaWriter): readonly (Parameter | Ref)[] {
  const own = [...pathParameters(route), ...queryParameters(route, schemas)];
  const original = route.original?.parameters;
  return [
    ...own.map((parameter) =>
      original === undefined || original.includes(parameter.name)
        ? parameter
        : ({ ...parameter, 'x-addition': true } as const),
    ),
    ...(takesAccount(route) ? [shared('Signpost-Account')] : []),
    ...(route.takesPreconditions ? [shared('If-Match')] : []),
    ...(hasEntityTag(route) ? [shared('If-None-Match')] : []),
    ...(route.takesLastEventId ? [shared('Last-Event-ID')] : []),
    ...(takesIdempotencyKey(route) ? [shared('Idempotency-Key')] : []),
  ];
}

/** The parameters of a route's path, in its order: `/v1/pets/:petId` gives `petId`. */
export function pathParameterNames(path: string): readonly ParamName[] {
  // The type of a declared route allows no names but those of `params` (src/http/pipeline/validate.ts).
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name as ParamName);
}

/** Always required: without its parameter there is no such path. */
function pathParameters({ path }: Route): readonly Parameter[] {
  return pathParameterNames(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    ...params[name],
  }));
}

/** One parameter for each field of the query's schema; description and example stand beside the schema, not in it. */
function queryParameters({ query }: Route, schemas: SchemaWriter): readonly Parameter[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemas.input(query);
  return Object.entries(properties).map(([name, property]) => {
    const { description = '', example, ...schema } = property as JsonSchema; // no query has a `true` for a schema
    const must = required.includes(name) ? ({ required: true } as const) : {};
    const shown = example === undefined ? {} : { example };
    return { name, in: 'query', description, ...must, schema, ...shown };
  });
}

/** A reference to one of `sharedParameters`. */
function shared(name: keyof typeof sharedParameters): Ref {
  return { $ref: `#/components/parameters/${name}` };
}
