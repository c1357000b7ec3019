/** Serves the OpenAPI document and the reference pages. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { ApiConfig } from '../../config/config.ts';
import { projectRoot } from '../../config/root-folder.ts';
import { pagePolicy } from '../../net/html.ts';
import { renderJson } from '../../net/json.ts';
import { buildDocument } from '../openapi/document.ts';
import { type OpenApiDocument, verbs } from '../openapi/model.ts';
import { renderPages } from '../openapi/page/page.ts';
import { style } from '../openapi/page/style.ts';
import { type ApiResponse, refuse } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';

const DOCS_POLICY = pagePolicy({ forms: 'none' });

/** Compiled from src/http/openapi/page/script.ts. */
const SCRIPT_FILE = 'dist/src/http/openapi/page/script.js';

/** Rendered at startup. Throws if a route cannot be described or the script is not compiled. */
export function openApiRoutes(
  others: readonly Route[],
  addresses: Pick<ApiConfig, 'baseUrl' | 'stagingUrl'>,
): readonly Route[] {
  // The document describes these routes too, so it is rendered after them.
  const own: readonly Route[] = [...documentRoutes(() => texts), ...fileRoutes(() => texts)];
  const document = buildDocument([...others, ...own], addresses);
  const texts = textsOf(document);
  return own;
}

type Texts = () => ReturnType<typeof textsOf>;

function textsOf(document: OpenApiDocument) {
  return {
    json: renderJson(document),
    llms: renderLlms(document),
    pages: renderPages(document),
    script: readFileSync(new URL(SCRIPT_FILE, projectRoot), 'utf8').replace(/\n\/\/# source.*/, ''),
  };
}

/** The minimum that every such document has. src/http/openapi/model.ts has our full type. */
const anOpenApiDocument = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ id: 'OpenApiDocument', description: 'API description (OpenAPI 3.1)' });

const inCommon = { scope: null, tag: 'Service', stability: 'stable' } as const;

/** For machines, and as pages. */
function documentRoutes(texts: Texts): readonly Route[] {
  return [
    route({
      ...inCommon,
      at: 'GET /openapi.json',
      operationId: 'getOpenApiDocument',
      summary: 'Get the OpenAPI document',
      success: success(200, 'OpenAPI 3.1', anOpenApiDocument, {
        openapi: '3.1.0',
        info: { title: 'Signpost', version: '1.0.0' },
        paths: {},
      }),
      handle: async () => ({ status: 200, text: texts().json }),
    }),
    route({
      ...inCommon,
      at: 'GET /docs',
      operationId: 'getDocsPage',
      summary: 'Get the API reference',
      description: 'What all operations have in common. Each tag has its own page.',
      success: success(200, 'The page', 'text/html', '<!doctype html>…'),
      handle: async () => servedPage(texts().pages.get('/docs')),
    }),
    route({
      ...inCommon,
      at: 'GET /docs/:section',
      operationId: 'getDocsSection',
      summary: 'Get the API reference of one tag',
      description: 'Readable without JavaScript. With it, you can try every call.',
      success: success(200, 'The page', 'text/html', '<!doctype html>…'),
      handle: async ({ params }) => servedPage(texts().pages.get(`/docs/${params.section}`)),
    }),
  ];
}

/** The style and the script are only used by the pages, and change with them. */
function fileRoutes(texts: Texts): readonly Route[] {
  return [
    route({
      ...inCommon,
      stability: 'experimental',
      at: 'GET /docs/assets/style.css',
      operationId: 'getDocsStyle',
      summary: 'Get the style sheet of the API reference',
      success: success(200, 'CSS', 'text/css', ':root {…}'),
      handle: async () => served(style, 'text/css'),
    }),
    route({
      ...inCommon,
      stability: 'experimental',
      at: 'GET /docs/assets/script.js',
      operationId: 'getDocsScript',
      summary: 'Get the script of the API reference',
      success: success(200, 'JavaScript', 'text/javascript', 'const KEY = …'),
      handle: async () => served(texts().script, 'text/javascript'),
    }),
    route({
      ...inCommon,
      at: 'GET /llms.txt',
      operationId: 'getLlmsText',
      summary: 'Get the overview for coding agents',
      description: 'Rules for clients and a list of all operations, in Markdown (llmstxt.org).',
      success: success(
        200,
        'Markdown',
        'text/plain',
        '# Signpost\n\n> Custom domains for your SaaS …',
      ),
      handle: async () => served(texts().llms, 'text/plain'),
    }),
  ];
}

/** The policy lets the page's own style and script load. */
function servedPage(page: string | undefined): ApiResponse {
  if (page === undefined) return refuse('not_found');
  return served(page, 'text/html', { 'content-security-policy': DOCS_POLICY });
}

/** UTF-8, with an entity tag like every 200 to a GET. */
function served(
  text: string,
  mediaType: string,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return {
    status: 200,
    text,
    headers: { 'content-type': `${mediaType}; charset=utf-8`, ...headers },
  };
}

// `/llms.txt` (https://llmstxt.org): what a coding agent needs before it reads the document.

const rules = [
  'Send `Authorization: Bearer <key>`. Bodies are JSON. Unknown fields and query parameters are refused.',
  'Decide by `code` of an error, never by `message`. `errors` names each wrong field, and `docs` links to the code.',
  'Repeat a `POST` with the same `Idempotency-Key` until there is an answer: it takes effect once. After 429 and 503, wait for `Retry-After`.',
  'Follow the `Link` header of a list as it is. Filter by your own IDs: `?metadata[customer]=42`.',
  'Show `summary.line`, `record` and each finding’s `summary` and `action` to the customer: they are written for people who do not know DNS.',
  'Do not poll: create a webhook, verify its signature, and drop a `webhook-id` that you have seen.',
  'Adding a domain needs a project on a paid plan with a successful deploy. Several projects can have a host name; the DNS decides.',
];

/** Deterministic. Links are relative to the service. */
function renderLlms(document: OpenApiDocument): string {
  const { title, summary } = document.info;
  return [
    `# ${title}\n`,
    `> ${summary}\n`,
    `Rules for clients:\n`,
    ...rules.map((rule) => `- ${rule}`),
    '\n## Reference\n',
    '- [OpenAPI document](/openapi.json): every operation, schema, error and webhook message',
    '- [API reference](/docs): the same for people',
    '- [Error codes](/docs/errors): what each one means',
    ...document.tags.flatMap(({ name, description }) => [
      `\n## ${name}\n\n${description}\n`,
      ...operationsOf(document, name),
    ]),
    '',
  ].join('\n');
}

function operationsOf({ paths }: OpenApiDocument, tag: string): readonly string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      if (operation === undefined || operation.tags[0] !== tag) return [];
      const { operationId, summary } = operation;
      const address = item.servers === undefined ? `/v1${path}` : path;
      const link = `/docs/${tag.toLowerCase()}#${operationId}`;
      return [`- [${verb.toUpperCase()} ${address}](${link}): ${summary}`];
    }),
  );
}
