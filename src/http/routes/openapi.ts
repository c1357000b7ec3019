/** The OpenAPI document and the pages that show it, all made once from the other routes. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { ApiConfig } from '../../config/config.ts';
import { projectRoot } from '../../db/engine/migrate.ts';
import { pagePolicy } from '../../net/html.ts';
import { renderJson } from '../../net/json.ts';
import { buildDocument } from '../openapi/document.ts';
import { renderPages } from '../openapi/page/page.ts';
import { style } from '../openapi/page/style.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';

/** Content-Security-Policy of the pages. */
const PAGE_POLICY = pagePolicy({ forms: 'none' });

/** Where the build puts it: a browser cannot read what src/http/openapi/page/script.ts is written in. */
const SCRIPT_FILE = 'dist/src/http/openapi/page/script.js';

/** What the routes serve, made once. */
type Texts = {
  readonly json: string;
  readonly pages: ReadonlyMap<string, string>;
  readonly script: string;
};

/**
 * Routes that describe `others` and themselves. Everything is rendered here, once; a request only gets the text. Throws
 * where a route cannot be described, and where the build has left no script.
 */
export function openApiRoutes(
  others: readonly Route[],
  addresses: Pick<ApiConfig, 'baseUrl' | 'stagingUrl'>,
): readonly Route[] {
  // The document describes these routes too, so their texts come after them.
  const own = [
    documentRoute(() => texts.json),
    pageRoute((path) => texts.pages.get(path)),
    sectionRoute((path) => texts.pages.get(path)),
    styleRoute(),
    scriptRoute(() => texts.script),
  ];
  const document = buildDocument([...others, ...own], addresses);
  const texts: Texts = {
    json: renderJson(document),
    pages: renderPages(document),
    script: readFileSync(new URL(SCRIPT_FILE, projectRoot), 'utf8').replace(/\n\/\/# source.*/, ''),
  };
  return own;
}

/** Only what every such document has; the type of ours is in src/http/openapi/model.ts. */
const anOpenApiDocument = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ id: 'OpenApiDocument', description: 'A description of an API (OpenAPI 3.1)' });

const inCommon = { method: 'GET', scope: null, tag: 'Service', stability: 'stable' } as const;

/** The document as JSON. */
function documentRoute(json: () => string): Route {
  return route({
    ...inCommon,
    path: '/openapi.json',
    operationId: 'getOpenApiDocument',
    summary: 'This document',
    success: {
      status: 200,
      description: 'OpenAPI 3.1',
      schema: anOpenApiDocument,
      example: { openapi: '3.1.0', info: { title: 'Signpost', version: '1.0.0' }, paths: {} },
    },
    handle: async () => ({ status: 200, text: json() }),
  });
}

/** The HTML of a path, or undefined where there is no such page. */
type FindPage = (path: string) => string | undefined;

/** The overview. */
function pageRoute(find: FindPage): Route {
  return route({
    ...inCommon,
    path: '/docs',
    operationId: 'getDocsPage',
    summary: 'The page that shows this document',
    description:
      'What the operations have in common; those of each tag are on a page of their own.',
    success: {
      status: 200,
      description: 'The page',
      mediaType: 'text/html',
      example: '<!doctype html>…',
    },
    handle: async () => servedPage(find('/docs')),
  });
}

/** The page of one tag; 404 for a tag that no operation has. */
function sectionRoute(find: FindPage): Route {
  return route({
    ...inCommon,
    path: '/docs/:section',
    operationId: 'getDocsSection',
    summary: 'The page of the operations of one tag',
    description: 'Reads without a script; with one, every call can be tried.',
    success: {
      status: 200,
      description: 'The page',
      mediaType: 'text/html',
      example: '<!doctype html>…',
    },
    handle: async ({ params }) => servedPage(find(`/docs/${params.section}`)),
  });
}

/** For the pages alone: its content changes with them. */
function styleRoute(): Route {
  return route({
    ...inCommon,
    stability: 'experimental',
    path: '/docs/assets/style.css',
    operationId: 'getDocsStyle',
    summary: 'The style of the pages',
    success: { status: 200, description: 'CSS', mediaType: 'text/css', example: ':root {…}' },
    handle: async () => served(style, 'text/css'),
  });
}

/** For the pages alone, like their style. */
function scriptRoute(script: () => string): Route {
  return route({
    ...inCommon,
    stability: 'experimental',
    path: '/docs/assets/script.js',
    operationId: 'getDocsScript',
    summary: 'The script of the pages',
    success: {
      status: 200,
      description: 'JavaScript',
      mediaType: 'text/javascript',
      example: 'const KEY = …',
    },
    handle: async () => served(script(), 'text/javascript'),
  });
}

/** The page with its own policy, which lets its style and its script load. */
function servedPage(page: string | undefined): ApiResponse {
  if (page === undefined) return refuse('not_found');
  return served(page, 'text/html', { 'content-security-policy': PAGE_POLICY });
}

/** Text of a media type in UTF-8. Like every 200 to a GET, it has an entity tag. */
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
