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
import { refuse } from '../pipeline/errors.ts';
import type { ApiResponse } from '../pipeline/response.ts';
import { type Route, route } from '../pipeline/route.ts';

const PAGE_POLICY = pagePolicy({ forms: 'none' });

/** Where the build puts it: a browser cannot read what src/http/openapi/page/script.ts is written in. */
const SCRIPT_FILE = 'dist/src/http/openapi/page/script.js';

type Texts = {
  readonly json: string;
  readonly pages: ReadonlyMap<string, string>;
  readonly script: string;
};

/** Routes that describe `others` and themselves. Throws where a route cannot be described. */
export function openApiRoutes(
  others: readonly Route[],
  addresses: Pick<ApiConfig, 'baseUrl' | 'stagingUrl'>,
): readonly Route[] {
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

const anOpenApiDocument = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ id: 'OpenApiDocument', description: 'A description of an API (OpenAPI 3.1)' });

const inCommon = { method: 'GET', scope: null, tag: 'Service', stability: 'stable' } as const;

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

type FindPage = (path: string) => string | undefined;

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

function servedPage(page: string | undefined): ApiResponse {
  if (page === undefined) return refuse('not_found');
  return served(page, 'text/html', { 'content-security-policy': PAGE_POLICY });
}

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
