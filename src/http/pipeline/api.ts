/** Without sockets: address → route → key → scope → body → validation → handler, and one exit. */
import { createHash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { type Access, noAccess } from '../../core/access.ts';
import { POOL_MAX } from '../../db/engine/client.ts';
import { isUnavailable } from '../../db/engine/unavailable.ts';
import { addressGroup, clientAddress, trustedProxies } from '../../net/client-address.ts';
import { inRequestSpan, type RequestSpan } from '../../net/tracing.ts';
import type { Service } from '../../service/service.ts';
import { createIsSecret } from '../keys/auth.ts';
import { rateLimitHeaders } from '../limits/rate-limit.ts';
import { createTurns, lineOf } from '../limits/turns.ts';
import { type Admission, admit, type ClientChecks, countAddress } from './admission.ts';
import { createAuditing, isAudited } from './audit.ts';
import { type BodyRead, readJson } from './body.ts';
import { type ApiResponse, completeRefusal, type Refusal, refuse, refuseField } from './errors.ts';
import { createIdempotency, idempotencyKeyOf } from './idempotency.ts';
import { withNextLink } from './paging.ts';
import { type RawResponse, render } from './render.ts';
import {
  type ApiKeyIdentity,
  type Headers,
  type Route,
  takesIdempotencyKey,
  takesTurn,
} from './route.ts';
import { createRouter, type RouteMatch } from './router.ts';
import { type Trace, traceOf } from './trace.ts';

export type RawRequest = {
  /** Case-sensitive (RFC 9110, 9.1). */
  readonly method: string;
  /** Origin form or absolute form. */
  readonly target: string;
  readonly headers: Headers;
  /** Called at most once, and only if the body is needed. The caller bounds its size. */
  readonly readBody: () => Promise<BodyRead>;
  readonly remoteAddress: string | undefined;
  readonly refusal?: Refusal | null;
  /** Set by dashboard pages: they count their own request in the metrics, and can send a session's token. */
  readonly isOfPage?: true;
};

/** Requests can run concurrently. */
export type Api = {
  /** Never rejects. */
  readonly handle: (raw: RawRequest) => Promise<RawResponse>;
  /** For bytes that never became a request. Logged only with an address. Never throws. */
  readonly reject: (refusal: Refusal, remoteAddress: string | undefined) => RawResponse;
};

type ApiService = Pick<
  Service,
  'accounts' | 'audit' | 'config' | 'database' | 'log' | 'metrics' | 'now'
>;

type RouteFound = Extract<RouteMatch, { kind: 'route' }>;
type AdmittedRequest = RouteFound & {
  readonly key: ApiKeyIdentity | null;
  readonly access: Access;
  readonly requestId: string;
};

const RETRY_AFTER_SECONDS = '5';
/** Longer than a page of 1 MB takes. */
const REST_MS_MAX = 100;

/** What the service and its configuration determine. */
function pipelineOf(service: ApiService, checks: ClientChecks) {
  const { api, apiKey } = service.config;
  const trusted = trustedProxies(api.trustedProxies);
  const clientOf = (remoteAddress: string | undefined, headers: Headers) =>
    clientAddress(remoteAddress, headers['x-forwarded-for'], trusted);
  return {
    ...checks,
    accounts: service.accounts,
    accountLimits: api.accountLimits,
    clientOf,
    addressOf: (remoteAddress: string | undefined, headers: Headers) =>
      addressGroup(clientOf(remoteAddress, headers)),
    auditing: createAuditing(service),
    turns: createTurns({ places: POOL_MAX, placesWhenShared: 1, restMsMax: REST_MS_MAX }),
    idempotency: createIdempotency(service),
    cors: createCors(api.corsOrigins),
    isSecret: createIsSecret(apiKey),
    /** The path before `/v1` of the public base address: empty or e.g. `/store`. */
    basePath: basePathOf(service.config),
    /** Of the API reference, for the links in errors. */
    docsUrl: (api.baseUrl ?? '/v1').replace(/\/v1$/, '/docs'),
    log: service.log,
    count: service.metrics?.request,
  };
}

type Pipeline = ReturnType<typeof pipelineOf>;

/** The path that a proxy adds: empty or e.g. `/store`. BASE_URL ends with /v1, where routes start. */
export function basePathOf({ api }: Pick<Config, 'api'>): string {
  return new URL(api.baseUrl ?? 'http://localhost/v1').pathname.slice(0, -'/v1'.length);
}

/** Throws if two routes share method and path. Exceptions become 500 or 503 without details. */
export function createApi(
  service: ApiService,
  routes: readonly Route[],
  checks: ClientChecks,
): Api {
  const pipeline = pipelineOf(service, checks);
  const { basePath, cors, log, docsUrl } = pipeline;
  const find = createRouter(routes);

  /** The only place in the API that catches exceptions. */
  async function handle(raw: RawRequest, span: RequestSpan): Promise<RawResponse> {
    const startedAt = performance.now();
    const trace = traceOf(raw.headers, pipeline.isSecret, span.traceparent);
    const found: RouteMatch = raw.refusal
      ? { kind: 'answer', answer: raw.refusal }
      : find(raw.method, raw.target);
    const route = found.kind === 'route' ? found.route : null;
    let admission: Admission = { refusal: null, key: null, access: noAccess, headers: {} };
    const rendered = (answer: ApiResponse) =>
      render(below(basePath, completeRefusal(answer, { ...trace, docsUrl })), raw, trace, {
        ...admission.headers,
        ...corsHeaders(cors, raw, answer),
        ...linksBelow(basePath, route?.headers),
      });
    let response: RawResponse;
    try {
      const address = countAddress(pipeline, raw.remoteAddress, raw.headers);
      admission = await admit(pipeline, route, raw, address);
      response = rendered(await answerTo(pipeline, raw, found, admission, trace));
    } catch (fault) {
      const refusal = refusalOf(fault);
      const { code } = refusal.body;
      log.error({ err: fault, code, ...about(trace, route, admission, raw.method) }, 'fault');
      response = rendered(refusal);
    }
    const elapsedMs = performance.now() - startedAt;
    if (raw.isOfPage !== true)
      pipeline.count?.(route?.operationId, response.status, elapsedMs / 1_000);
    span.answered(route?.operationId, response.status);
    const ms = Math.round(elapsedMs * 100) / 100;
    const line = { status: response.status, ms, ...about(trace, route, admission, raw.method) };
    // Successful probes arrive every few seconds.
    if (route?.tag === 'Service' && response.status < 400) log.debug(line, 'answered');
    else log.info(line, 'answered');
    return response;
  }

  return {
    handle: (raw) => inRequestSpan(raw, (span) => handle(raw, span)),
    reject: (refusal, remoteAddress) => rejected(pipeline, refusal, remoteAddress),
  };
}

async function answerTo(
  pipeline: Pipeline,
  raw: RawRequest,
  found: RouteMatch,
  { refusal, key, access }: Admission,
  { requestId }: Trace,
): Promise<ApiResponse> {
  if (found.kind === 'answer') return refusal ?? found.answer;
  const passed = { key, access, requestId, ...found };
  const answer = refusal ?? (await perform(pipeline, raw, passed));
  const audited = answer.status === 403 ? auditedOf(pipeline, raw, passed) : null;
  if (audited === null || key === null) return answer;
  const leave = await pipeline.turns.take(lineOf(key.access));
  await audited.refused(answer).finally(leave);
  return answer;
}

function rejected(
  pipeline: Pipeline,
  refusal: Refusal,
  remoteAddress: string | undefined,
): RawResponse {
  const unread = { method: 'GET', headers: {} };
  const trace = traceOf(unread.headers, pipeline.isSecret);
  const whole = completeRefusal(refusal, { requestId: trace.requestId, docsUrl: pipeline.docsUrl });
  if (remoteAddress === undefined) return render(whole, unread, trace, {});
  const counted = [countAddress(pipeline, remoteAddress, unread.headers)];
  const { requestId, traceId } = trace;
  const { code, status } = refusal.body;
  pipeline.count?.(undefined, status, 0);
  pipeline.log.info({ requestId, traceId, code, status }, 'answered');
  return render(whole, unread, trace, rateLimitHeaders(counted));
}

function below(basePath: string, answer: ApiResponse): ApiResponse {
  return basePath === '' ? answer : { ...answer, headers: linksBelow(basePath, answer.headers) };
}

/** Adds the base path to `/v1` paths in `link` and `location`. */
function linksBelow(
  basePath: string,
  headers: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  if (basePath === '') return headers;
  const prefixed = Object.entries(headers).map(([name, value]) =>
    name === 'link' || name === 'location'
      ? [name, value.replace(/^(<?)(?=\/v1)/, `$1${basePath}`)]
      : [name, value],
  );
  return Object.fromEntries(prefixed);
}

/** Never includes path, query, headers or body, which can contain a key. */
function about(trace: Trace, route: Route | null, { key, access }: Admission, method: string) {
  const { requestId, traceId } = trace;
  const whose = key !== null && access.kind === 'account' && { accountId: access.accountId };
  return { requestId, traceId, method, operationId: route?.operationId, keyId: key?.id, ...whose };
}

/** OPTIONS responses with `allow` are preflight responses. */
function corsHeaders(cors: Cors, { method, headers }: RawRequest, answer: ApiResponse) {
  const allow = method === 'OPTIONS' ? answer.headers?.['allow'] : undefined;
  return allow === undefined ? cors.answerHeaders(headers) : cors.preflightHeaders(headers, allow);
}

/** Nothing before `run` has side effects. */
async function perform(
  pipeline: Pipeline,
  raw: RawRequest,
  passed: AdmittedRequest,
): Promise<ApiResponse> {
  const { route, params, key, access, requestId } = passed;
  // Removed operations answer before the request is read any further.
  const ended = route.ended?.() ?? null;
  if (ended !== null) return ended;
  const query = parseQuery(passed.query);
  if (!query.ok) return query.refusal;
  const body =
    route.body && (await readJson(raw.headers, raw.readBody, route.bodyIsOptional === true));
  if (body?.ok === false) return body.refusal;
  const prepared = route.prepare({
    params,
    query: query.value,
    headers: raw.headers,
    body: body?.value,
    key,
    access,
    requestId,
    remoteAddress: raw.remoteAddress,
  });
  if (!prepared.ok) return prepared.refusal;
  await prepared.preload();
  const leave = takesTurn(route) ? await pipeline.turns.take(lineOf(access)) : undefined;
  try {
    return await run(pipeline, raw, passed, prepared.run, body);
  } finally {
    leave?.();
  }
}

/** Once per Idempotency-Key, and with its entry in the audit log. */
async function run(
  pipeline: Pipeline,
  raw: RawRequest,
  passed: AdmittedRequest,
  handle: () => Promise<ApiResponse>,
  body: { readonly value: unknown; readonly bytes: Uint8Array } | undefined,
): Promise<ApiResponse> {
  const { route, key, access, requestId } = passed;
  const audited = auditedOf(pipeline, raw, passed, body?.value);
  const change = () => audited?.run(handle) ?? handle();
  if (takesIdempotencyKey(route) && key !== null) {
    const given = idempotencyKeyOf(raw.headers, pipeline.isSecret);
    if (!given.ok) return given.refusal;
    if (given.key !== null) {
      const fingerprint = fingerprintOf(raw, access, body?.bytes);
      const { operationId } = route;
      const attempt = { apiKeyId: key.id, operationId, key: given.key, fingerprint };
      // Stored with the first request's ID, so that a replay is the same.
      const once = async () =>
        completeRefusal(await change(), { requestId, docsUrl: pipeline.docsUrl });
      return pipeline.idempotency(attempt, once);
    }
  }
  const answer = await change();
  await answer.afterCommit?.();
  return withNextLink(answer, passed);
}

/** Null if the log does not have such requests. Refused ones have no access: the key's own counts. */
function auditedOf(
  { auditing, clientOf }: Pipeline,
  { remoteAddress, headers }: RawRequest,
  { route, params, key, access, requestId }: AdmittedRequest,
  body?: unknown,
) {
  if (key === null || !isAudited(route)) return null;
  const address = clientOf(remoteAddress, headers);
  const acting = access === noAccess ? key.access : access;
  return auditing({ route, params, key, access: acting, requestId, address, body });
}

/** The same request for another account is another one. */
function fingerprintOf(
  { method, target, headers }: RawRequest,
  access: Access,
  body: Uint8Array = new Uint8Array(),
) {
  const isChosen = headers['signpost-account'] !== undefined && access.kind === 'account';
  const head = `${method} ${target}\n${isChosen ? `${access.accountId}\n` : ''}`;
  const digest = createHash('sha256').update(head).update(body).digest();
  return new Uint8Array(digest);
}

/** 503 if the database is unavailable, otherwise 500 without details. */
function refusalOf(fault: unknown): Refusal {
  return isUnavailable(fault)
    ? refuse('unavailable', undefined, { 'retry-after': RETRY_AFTER_SECONDS })
    : refuse('internal_error');
}

// The Fetch standard's CORS protocol. Without configured origins, no CORS headers are sent.

type Cors = {
  answerHeaders(request: Headers): Readonly<Record<string, string>>;
  /** `allow`: the response's `Allow` header. */
  preflightHeaders(request: Headers, allow: string): Readonly<Record<string, string>>;
};

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Signpost-Account, Traceparent, X-Request-Id';
const EXPOSED_HEADERS =
  'Accept, Allow, Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Sunset, Traceparent, WWW-Authenticate, X-Request-Id';
const MAX_AGE_SECONDS = '7200'; // Chromium's maximum

const none = {};

/** Compares origins exactly (`https://shop.example`). Allows no credentials (cookies). */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return { answerHeaders: () => none, preflightHeaders: () => none };
  const allowed = new Set(origins);
  // Keeps responses for different keys, accounts and origins apart in caches.
  const varies = { vary: 'Authorization, Signpost-Account, Origin' };
  const answerHeaders = ({ origin }: Headers) =>
    origin === undefined || !allowed.has(origin)
      ? varies
      : {
          ...varies,
          'access-control-allow-origin': origin,
          'access-control-expose-headers': EXPOSED_HEADERS,
        };
  return {
    answerHeaders,
    preflightHeaders(request, allow) {
      const { origin = '', 'access-control-request-method': method } = request;
      if (!allowed.has(origin) || method === undefined) return varies;
      return {
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': allow,
        'access-control-allow-headers': ALLOWED_HEADERS,
        'access-control-max-age': MAX_AGE_SECONDS,
      };
    },
  };
}

/** Parameters such as `metadata[customer]` are collected below their common name. */
type ParsedQuery =
  | {
      readonly ok: true;
      readonly value: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
    }
  | { readonly ok: false; readonly refusal: Refusal };

const KEYED = /^([^[\]]+)\[([^[\]]*)\]$/;

/** Refuses repeated parameters: clients and servers disagree on which value counts. */
function parseQuery(query: URLSearchParams): ParsedQuery {
  const plain = new Map<string, string>();
  const keyed = new Map<string, Map<string, string>>();
  for (const [name, value] of query) {
    const [, outer, inner] = KEYED.exec(name) ?? [];
    const group = outer === undefined ? plain : (keyed.get(outer) ?? new Map<string, string>());
    const own = inner ?? name;
    if (group.has(own) || (outer !== undefined && plain.has(outer)) || keyed.has(name)) {
      return {
        ok: false,
        refusal: refuseField('invalid_query', name, 'is given more than once', 'repeated'),
      };
    }
    group.set(own, value);
    if (outer !== undefined) keyed.set(outer, group);
  }
  const objects = [...keyed].map(([name, group]) => [name, Object.fromEntries(group)] as const);
  return { ok: true, value: { ...Object.fromEntries(plain), ...Object.fromEntries(objects) } };
}
