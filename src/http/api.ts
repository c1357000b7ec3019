/**
 * The API without a socket: a raw request in, a raw answer out. Every request goes
 * route → key → scope → body → handler (which validates), and leaves through one exit.
 */
import { randomUUID } from 'node:crypto';
import { type Authenticate, allows, forbidden, unauthorized } from './auth.ts';
import { type BodyRead, readJson } from './body.ts';
import { type Refusal, refuse } from './errors.ts';
import { isUnavailable } from './faults.ts';
import { renderJson } from './json.ts';
import type { ApiKeyIdentity, ApiResponse, Headers, Route } from './route.ts';
import { createRouter } from './router.ts';

export type RawRequest = {
  readonly method: string;
  /** The request target as it came: origin form or absolute form. */
  readonly target: string;
  readonly headers: Headers;
  /** Called at most once, and only where the body is wanted. */
  readonly readBody: () => Promise<BodyRead>;
  readonly remoteAddress: string | undefined;
};

export type RawResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body, as for HEAD and 204. */
  readonly body: string | null;
};

export type Api = {
  /** Answers every request, and never rejects. */
  readonly handle: (raw: RawRequest) => Promise<RawResponse>;
  /** The answer for what never became a request: the same headers, the same Error body. */
  readonly reject: (refusal: Refusal) => RawResponse;
};

/** The part of a pino logger that the API uses. */
export type ApiLog = {
  readonly error: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  readonly debug: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

export type ApiDeps = {
  readonly routes: readonly Route[];
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
};

const RETRY_AFTER_SECONDS = '5';

/** Answers come with these unless a route says otherwise: nothing here is to be cached, framed or sniffed. */
const standardHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** Builds the API. Rate limits belong before `authenticate`, idempotency keys around `route.handle`. */
export function createApi({ routes, authenticate, log }: ApiDeps): Api {
  const find = createRouter(routes);

  async function answer(raw: RawRequest, requestId: string): Promise<ApiResponse> {
    const found = find(raw.method, raw.target);
    if (found.kind === 'answer') return found.answer;
    const { route, params } = found;
    const admitted = await admit(route, raw.headers['authorization']);
    if (!admitted.ok) return admitted.refusal;
    const query = once(found.query);
    if (!query.ok) return query.refusal;
    const body = route.body && (await readJson(raw.headers, raw.readBody));
    if (body?.ok === false) return body.refusal;
    return route.handle({
      params,
      query: query.value,
      headers: raw.headers,
      body: body?.value,
      key: admitted.key,
      requestId,
    });
  }

  async function admit(route: Route, authorization: string | undefined): Promise<Admission> {
    if (route.scope === null) return { ok: true, key: null };
    const who = await authenticate(authorization);
    if (who.kind !== 'ok') return { ok: false, refusal: unauthorized(who.kind) };
    if (!allows(who.key, route.scope)) return { ok: false, refusal: forbidden(route.scope) };
    return { ok: true, key: who.key };
  }

  /** The only place of the API that catches faults. */
  async function handle(raw: RawRequest): Promise<RawResponse> {
    const requestId = requestIdOf(raw.headers['x-request-id']);
    try {
      const response = render(await answer(raw, requestId), requestId, raw.method);
      log.debug({ requestId, method: raw.method, status: response.status }, 'answered');
      return response;
    } catch (fault) {
      const refusal = refusalOf(fault);
      log.error({ err: fault, requestId, method: raw.method, code: refusal.body.code }, 'fault');
      return render(refusal, requestId, raw.method);
    }
  }

  return { handle, reject: (refusal) => render(refusal, randomUUID(), 'GET') };
}

type Admission =
  | { readonly ok: true; readonly key: ApiKeyIdentity | null }
  | { readonly ok: false; readonly refusal: Refusal };

/** What a fault looks like from outside: never its detail. */
function refusalOf(fault: unknown): Refusal {
  return isUnavailable(fault)
    ? refuse('unavailable', undefined, { 'retry-after': RETRY_AFTER_SECONDS })
    : refuse('internal_error');
}

type Query =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly refusal: Refusal };

/** A parameter that is given twice has no meaning that everybody would agree on. */
function once(query: URLSearchParams): Query {
  const names = [...query.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  return repeated === undefined
    ? { ok: true, value: Object.fromEntries(query) }
    : { ok: false, refusal: refuse('invalid_query', `${repeated}: is given more than once`) };
}

/** The client's own id where it has a harmless one, else a new one. */
function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}

function render(answer: ApiResponse, requestId: string, method: string): RawResponse {
  const text = answer.text ?? (answer.body === undefined ? null : renderJson(answer.body));
  const about = text === null ? {} : contentHeaders(text);
  const headers = { ...standardHeaders, ...about, ...answer.headers, 'x-request-id': requestId };
  // RFC 9110, 9.3.2: HEAD has the headers of GET, content-length too, and no body.
  return { status: answer.status, headers, body: method === 'HEAD' ? null : text };
}

function contentHeaders(text: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  };
}
