/** The OpenAPI document, made from the routes that answer: what validates is what is documented. */
import type { ApiConfig } from '../../config/config.ts';
import { type Route, tags } from '../pipeline/route.ts';
import { sharedHeaders } from './headers.ts';
import { createSchemaWriter, type SchemaWriter } from './json-schema.ts';
import type { OpenApiDocument, Operation, PathItem, Server } from './model.ts';
import { parametersOf, sharedParameters } from './parameters.ts';
import { apiDescription, keyDescription, tagDescriptions } from './refusals.ts';
import { errorExamples, responsesOf, sharedResponses } from './responses.ts';

/** The version that the interface document carries (part 9). */
export const API_VERSION = '1.0.0';
const BASE_PATH = '/v1';

type Addresses = Pick<ApiConfig, 'baseUrl' | 'stagingUrl'>;

/** Describes every route. The same routes and addresses give the same document, field by field. */
export function buildDocument(routes: readonly Route[], addresses: Addresses): OpenApiDocument {
  const schemas = createSchemaWriter();
  const paths: Record<string, PathItem> = {};
  for (const route of routes) {
    const path = documentPath(route.path);
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

/** `/v1/pets/:petId` is `/pets/{petId}` below the servers, whose URLs end in `v1`. */
export function documentPath(path: string): string {
  const below = isVersioned(path) ? path.slice(BASE_PATH.length) : path;
  return below.replace(/:(\w+)/g, '{$1}');
}

function isVersioned(path: string): boolean {
  return path.startsWith(`${BASE_PATH}/`);
}

function servers({ baseUrl = BASE_PATH, stagingUrl }: Addresses): readonly Server[] {
  return [
    { url: baseUrl, description: 'Production' },
    ...(stagingUrl === undefined ? [] : [{ url: stagingUrl, description: 'Staging' }]),
  ];
}

/** Where the paths are that carry no version. */
function rootServers(addresses: Addresses): readonly Server[] {
  return servers(addresses).map(({ url, description }) => ({
    url: url.slice(0, -BASE_PATH.length) || '/',
    description,
  }));
}

/** The name of the bearer scheme among the components. */
export const SECURITY_SCHEME = 'bearer';

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

function descriptionOf({ description, scope }: Route): string {
  const key = needsKey(scope);
  return description === undefined ? key : `${description}\n\n${key}`;
}

function needsKey(scope: Route['scope']): string {
  if (scope === null) return 'Needs no key.';
  return scope === 'any'
    ? 'Needs any key, whatever its scopes.'
    : `Needs a key with the scope \`${scope}\`.`;
}

function requestBodyOf({ body, bodyExample, bodyIsOptional }: Route, schemas: SchemaWriter) {
  if (body === undefined) return {};
  const json = { schema: schemas.input(body), example: bodyExample };
  return {
    requestBody: { required: bodyIsOptional !== true, content: { 'application/json': json } },
  };
}
