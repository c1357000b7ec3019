/** Checks that the OpenAPI document lists a response: status, type, and body field by field. */
import { expect } from 'vitest';
import { anywhere, refusalsOf } from '../../src/http/openapi/refusals.ts';
import { type ErrorBody, type ErrorCode, errors } from '../../src/http/pipeline/errors.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { createRouter, type Router } from '../../src/http/pipeline/router.ts';
import { error } from '../../src/http/schemas/common.ts';
import { parseJson, renderJson } from '../../src/net/json.ts';

export type Answered = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as sent, empty if there is none. */
  readonly text: string;
};

/** Errors of any request before routing. */
const beforeRouting: readonly ErrorCode[] = [
  ...anywhere,
  'bad_request',
  'rate_limited',
  'unavailable',
  'too_many_connections',
];

/** Fails if the document of `routes` lacks the response to `line` (`GET /v1/pets?limit=1`). */
export function expectDocumented(routes: readonly Route[], line: string, answer: Answered): void {
  const [method = '', target = ''] = line.split(' ');
  const found = routerOf(routes)(method, target);
  const route = found.kind === 'route' ? found.route : null;
  const { status, text } = answer;
  if (method === 'HEAD' || status === 304) expect(text, `${line}: the body`).toBe('');
  else if (status >= 400) expectRefusal(route, line, answer);
  else if (route === null) expect([method, status, text]).toEqual(['OPTIONS', 204, '']);
  else expectSuccess(route, line, answer);
  if (status === 304) expect(['GET', 'HEAD']).toContain(method);
}

const routers = new WeakMap<readonly Route[], Router>();

/** Cached for all responses of one test. */
function routerOf(routes: readonly Route[]): Router {
  const router = routers.get(routes) ?? createRouter(routes);
  routers.set(routes, router);
  return router;
}

function expectSuccess(
  { success }: Route,
  line: string,
  { status, headers, text }: Answered,
): void {
  expect(status, line).toBe(success.status);
  const { schema, mediaType = 'application/json' } = success;
  if (schema === undefined && success.mediaType === undefined) {
    expect(text, line).toBe('');
    return;
  }
  // The Prometheus text format also has a version.
  const type = new RegExp(`^${mediaType}; (version=[\\d.]+; )?charset=utf-8$`);
  expect(headers['content-type'], line).toMatch(type);
  if (schema === undefined) return;
  expectShape(schema, line, text);
}

function expectRefusal(
  route: Route | null,
  line: string,
  { status, headers, text }: Answered,
): void {
  expect(headers['content-type'], line).toBe('application/json; charset=utf-8');
  const { code } = expectShape(error, line, text) as ErrorBody; // what `error` accepts
  const own = route === null ? [] : [...refusalsOf(route).values()].flat();
  const documented = route === null ? beforeRouting : [...own, ...anywhere];
  expect(documented, `${line}: the codes that the document lists`).toContain(code);
  expect(status, line).toBe(errors[code][0]);
}

/** Returns the parsed value. Parsing drops undocumented fields, so the caller can compare. */
function expectShape(schema: NonNullable<Route['body']>, line: string, text: string): unknown {
  const sent = parsedText(text);
  const parsed = schema.safeParse(sent);
  if (!parsed.success) expect.fail(`${line}: ${parsed.error.message}\n${text}`);
  expect(sent, line).toEqual(parsedText(renderJson(parsed.data)));
  return parsed.data;
}

function parsedText(text: string): unknown {
  const parsed = parseJson(new TextEncoder().encode(text));
  return parsed.ok ? parsed.value : expect.fail(`not JSON: ${text}`);
}
