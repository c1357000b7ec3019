/** Builds the OpenAPI document from the routes, so validation and documentation share schemas. */
import type { ApiConfig } from '../../config/config.ts';
import { DELIVERY_TIMEOUT_MS } from '../../core/operations/webhook-plan.ts';
import { SECOND } from '../../core/time.ts';
import { type Route, tags, takesAccount, takesIdempotencyKey } from '../pipeline/route.ts';
import { type ParamName, params } from '../pipeline/validate.ts';
import { webhookMessage } from '../schemas/events.ts';
import { docsEvents } from '../schemas/examples.ts';
import { docsProject } from '../schemas/projects.ts';
import { createSchemaWriter, type SchemaWriter } from './json-schema.ts';
import type {
  JsonSchema,
  OpenApiDocument,
  Operation,
  Parameter,
  PathItem,
  Ref,
  Server,
  WebhookOperation,
} from './model.ts';
import { apiDescription, hasEntityTag, keyDescription, tagDescriptions } from './refusals.ts';
import { errorExamples, responsesOf, sharedHeaders, sharedResponses } from './responses.ts';

/** docs/interface.md, section 9. */
const API_VERSION = '1.0.0';
const BASE_PATH = '/v1';

/** Without them, the document's URLs are relative. */
type Addresses = Pick<ApiConfig, 'baseUrl' | 'stagingUrl'>;

/** Deterministic; keeps the routes' order. Throws if two different schemas share a name. */
export function buildDocument(routes: readonly Route[], addresses: Addresses): OpenApiDocument {
  const schemas = createSchemaWriter();
  const paths: Record<string, PathItem> = {};
  for (const route of routes) {
    const path = documentPath(route.path);
    // Routes with the same path share its entry.
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
      summary:
        "Custom domains for your SaaS, with the pets API. Signpost verifies DNS, issues certificates and serves your customers' domains.",
      description: apiDescription,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: servers(addresses),
    tags: tags
      .filter((name) => routes.some(({ tag }) => tag === name))
      .map((name) => ({ name, description: tagDescriptions[name] })),
    webhooks: { message: { post: webhookOperation(schemas) } },
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

/** `/v1/pets/:petId` becomes `/pets/{petId}`. Paths outside `/v1` keep their prefix. */
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

function rootServers(addresses: Addresses): readonly Server[] {
  return servers(addresses).map(({ url, description }) => ({
    url: url.slice(0, -BASE_PATH.length) || '/',
    description,
  }));
}

const SECURITY_SCHEME = 'bearer';

/** `x-addition` marks everything that docs/interface.md does not define. */
function operationOf(route: Route, schemas: SchemaWriter): Operation {
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
  if (scope === null) return 'Requires no key.';
  return scope === 'any'
    ? 'Requires any valid key.'
    : `Requires a key with the scope \`${scope}\`.`;
}

function requestBodyOf({ body, bodyExample, bodyIsOptional }: Route, schemas: SchemaWriter) {
  if (body === undefined) return {};
  const json = { schema: schemas.input(body), example: bodyExample };
  return {
    requestBody: { required: bodyIsOptional !== true, content: { 'application/json': json } },
  };
}

/** Headers that several operations read. The interface defines none. */
const sharedParameters = {
  'Signpost-Account': {
    name: 'Signpost-Account',
    in: 'header',
    description:
      "Acts for this account with the installation's key: nothing else is visible. An account's key can only name its own account",
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1f0-2b1c-4d7e-8a3f-6c5d4e3f2a10',
    'x-addition': true,
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A unique key for this request, quoted or bare. For 24 hours, a repeated request with the same key has no further effect and gets the same response.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
    'x-addition': true,
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the version to change. If the current version differs, the response is 412 and nothing changes',
    schema: { type: 'string' },
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
    'x-addition': true,
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of your version. If it is current, the response is 304',
    schema: { type: 'string' },
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
    'x-addition': true,
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The number of the last event that you have. The stream starts after it',
    schema: { type: 'string', pattern: '^[0-9]{1,40}$' },
    example: '41',
    'x-addition': true,
  },
} as const satisfies Readonly<Record<string, Parameter>>;

/** Marks additions to the interface, unless the whole operation is one. */
function parametersOf(route: Route, schemas: SchemaWriter): readonly (Parameter | Ref)[] {
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

function pathParameterNames(path: string): readonly ParamName[] {
  // The type of a declared route allows only names of `params` (src/http/pipeline/validate.ts).
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name as ParamName);
}

function pathParameters({ path }: Route): readonly Parameter[] {
  return pathParameterNames(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    ...params[name],
  }));
}

/** OpenAPI puts description and example next to the schema. */
function queryParameters({ query }: Route, schemas: SchemaWriter): readonly Parameter[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemas.input(query);
  return Object.entries(properties).map(([name, property]) => {
    // no query has the schema `true`
    const { description = '', example, ...schema } = property as JsonSchema;
    const must = required.includes(name) ? ({ required: true } as const) : {};
    const shown = example === undefined ? {} : { example };
    const style =
      schema['type'] === 'object' ? ({ style: 'deepObject', explode: true } as const) : {};
    return { name, in: 'query', description, ...must, ...style, schema, ...shown };
  });
}

function shared(name: keyof typeof sharedParameters): Ref {
  return { $ref: `#/components/parameters/${name}` };
}

const [newest] = docsEvents;
const example = {
  type: newest?.type,
  timestamp: newest?.at,
  data: { ...newest, projectId: docsProject.id },
};

/** What a receiver gets, so that generators make types for it. */
function webhookOperation(schemas: SchemaWriter): WebhookOperation {
  return {
    operationId: 'receiveMessage',
    tags: ['Webhooks'],
    summary: 'A message to your URL',
    description: `Sent to the URL of a webhook, signed as [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0 defines. Answer with any 2xx within ${DELIVERY_TIMEOUT_MS / SECOND} seconds. The same \`webhook-id\` can arrive more than once. \`type\` determines the fields of \`data\`; later versions add types.`,
    'x-stability': 'stable',
    'x-addition': true,
    security: [],
    parameters: [
      header(
        'webhook-id',
        'ID of the message, the same for every attempt',
        `msg_${docsProject.id}`,
      ),
      header('webhook-timestamp', 'Time of the attempt, in seconds since 1970', '1795176000'),
      header(
        'webhook-signature',
        'HMAC-SHA256 with each valid secret, separated by spaces',
        'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      ),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemas.output(webhookMessage), example } },
    },
    responses: {
      '2XX': { description: 'The message is accepted and not sent again', headers: {} },
      '410': { description: 'The webhook is disabled', headers: {} },
      default: { description: 'The message is sent again later', headers: {} },
    },
  };
}

function header(name: string, description: string, example: string): Parameter {
  return {
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
    example,
  };
}
