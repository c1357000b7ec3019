/**
 * The API without a socket: a raw request in, a raw answer out. Every request goes
 * address → route → key → scope → account → body → validation → handler, and leaves through one exit.
 */
import { isUnavailable } from '../../db/engine/unavailable.ts';
import { createInTurn } from '../../net/at-once.ts';
import { inRequestSpan, type RequestSpan } from '../../net/tracing.ts';
import type { CountRequest } from '../../ops/metrics/traffic.ts';
import { rateLimitHeaders } from '../limits/rate-limit.ts';
import { type Admission, type AdmissionDeps, admit, countAddress } from './admission.ts';
import type { Cors } from './cors.ts';
import type { ApiResponse } from './errors.ts';
import { type Refusal, refuse } from './errors.ts';
import { type Incoming, originOf, type PerformDeps, perform } from './perform.ts';
import { type RawResponse, render } from './render.ts';
import type { Route } from './route.ts';
import { createRouter, type Found } from './router.ts';
import { type Trace, traceOf } from './trace.ts';

/** A request as it was brought, and what is known of it besides. */
export type RawRequest = Incoming & {
  /** What was found wrong with it before it came here; it is answered with that. */
  readonly refusal?: Refusal | null;
  /** Brought by a page of the dashboard, whose own request is counted in the metrics instead. */
  readonly isOfPage?: true;
};

/** The API, callable without a socket. Requests may run at the same time. */
export type Api = {
  /** Answers every request, and never rejects. */
  readonly handle: (raw: RawRequest) => Promise<RawResponse>;
  /**
   * The answer for what never became a request. Where it has an address, it is counted against that and logged. Never
   * throws.
   */
  readonly reject: (refusal: Refusal, remoteAddress: string | undefined) => RawResponse;
};

/** The part of a pino logger that the API uses. */
export type ApiLog = Readonly<
  Record<
    'error' | 'info' | 'debug',
    (fields: Readonly<Record<string, unknown>>, message: string) => void
  >
>;

/** Our choice, of an account in one process: a change holds one of its ten connections to the database. */
const CHANGES_AT_ONCE = 2;

/** What the API is made of. Each part is shared by all requests. */
export type ApiDeps = AdmissionDeps &
  Omit<PerformDeps, 'inTurn'> & {
    readonly routes: readonly Route[];
    /** Headers for pages of other origins. */
    readonly cors: Cors;
    /** What the public base address has before `/v1`: empty, or `/store`. */
    readonly basePath: string;
    readonly log: ApiLog;
    /** Notes each request for the metrics; missing where nobody does. */
    readonly count?: CountRequest;
  };

const RETRY_AFTER_SECONDS = '5';

/**
 * Builds the router once. Throws where two routes have the same method and path. `handle` answers every fault with 500 or
 * 503, logs it, and shows nothing of it to the client.
 */
export function createApi(deps: ApiDeps): Api {
  const { cors, log } = deps;
  const find = createRouter(deps.routes);
  const { idempotency, audit, isSecret } = deps;
  const inTurn = createInTurn(CHANGES_AT_ONCE);
  const performing: PerformDeps = { idempotency, audit, isSecret, inTurn };

  /**
   * The only place of the API that catches faults. Every answer gets the headers of its exchange here, refusals and faults
   * among them.
   */
  async function handle(raw: RawRequest, span: RequestSpan): Promise<RawResponse> {
    const startedAt = performance.now();
    const trace = traceOf(raw.headers, deps.isSecret, span.traceparent);
    const found: Found = raw.refusal
      ? { kind: 'answer', answer: raw.refusal }
      : find(raw.method, raw.target);
    const route = found.kind === 'route' ? found.route : null;
    let admission: Admission = { refusal: null, key: null, headers: {} };
    const rendered = (answer: ApiResponse) =>
      render(below(deps.basePath, answer), raw, trace, {
        ...admission.headers,
        ...corsHeaders(cors, raw, answer),
        ...linksBelow(deps.basePath, route?.headers),
      });
    let response: RawResponse;
    try {
      const address = countAddress(deps, raw.remoteAddress, raw.headers);
      admission = await admit(deps, route, raw.headers, address);
      response = rendered(await answer(performing, raw, { found, admission, trace }));
    } catch (fault) {
      const refusal = refusalOf(fault);
      const { code } = refusal.body;
      log.error({ err: fault, code, ...about(trace, route, admission, raw.method) }, 'fault');
      response = rendered(refusal);
    }
    const elapsedMs = performance.now() - startedAt;
    // Seconds, as Prometheus has them.
    if (raw.isOfPage !== true) deps.count?.(route?.operationId, response.status, elapsedMs / 1_000);
    span.answered(route?.operationId, response.status);
    const ms = Math.round(elapsedMs * 100) / 100;
    const line = { status: response.status, ms, ...about(trace, route, admission, raw.method) };
    // Probes come every few seconds and say nothing while all is well.
    if (route?.tag === 'Service' && response.status < 400) log.debug(line, 'answered');
    else log.info(line, 'answered');
    return response;
  }

  return {
    handle: (raw) => inRequestSpan(raw, (span) => handle(raw, span)),
    reject: (refusal, remoteAddress) => rejected(deps, refusal, remoteAddress),
  };
}

type Asked = { readonly found: Found; readonly admission: Admission; readonly trace: Trace };

/** The answer to a request whose route was looked for. What a key may not do is written to the audit log, too. */
async function answer(
  deps: PerformDeps,
  raw: RawRequest,
  { found, admission: { refusal, key }, trace: { requestId } }: Asked,
): Promise<ApiResponse> {
  if (found.kind === 'answer') return refusal ?? found.answer;
  const answered = refusal ?? (await perform(deps, raw, { key, requestId, ...found }));
  if (answered.status < 400 || key === null) return answered;
  const asked = { route: found.route, key, origin: originOf(raw, requestId) };
  await deps.audit.refused(asked, answered);
  return answered;
}

/**
 * There is no request to read anything from, at most an address to count it against. Without one, nothing is counted or
 * logged: the connection was refused, or is gone.
 */
function rejected(deps: ApiDeps, refusal: Refusal, remoteAddress: string | undefined): RawResponse {
  const nobody = { method: 'GET', headers: {} };
  const trace = traceOf(nobody.headers, deps.isSecret);
  if (remoteAddress === undefined) return render(refusal, nobody, trace, {});
  const counted = [countAddress(deps, remoteAddress, nobody.headers)];
  const { requestId, traceId } = trace;
  const { code, status } = refusal.body;
  deps.count?.(undefined, status, 0);
  deps.log.info({ requestId, traceId, code, status }, 'answered');
  return render(refusal, nobody, trace, rateLimitHeaders(counted));
}

/** The answer with paths of ours in its headers as clients reach them. */
function below(basePath: string, answer: ApiResponse): ApiResponse {
  return basePath === '' ? answer : { ...answer, headers: linksBelow(basePath, answer.headers) };
}

/** Puts the base path before each `/v1` path in `link` and `location`; other headers stay as they are. */
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

/** What a line of the log says of a request: never its path, query, headers or body, where a key could be. */
function about(trace: Trace, route: Route | null, { key }: Admission, method: string) {
  const { requestId, traceId } = trace;
  const account = key?.access.kind === 'account' && { accountId: key.access.accountId };
  return {
    requestId,
    traceId,
    method,
    operationId: route?.operationId,
    keyId: key?.id,
    ...account,
  };
}

/** OPTIONS is a preflight where its answer has `allow`; every other answer gets an answer's headers. */
function corsHeaders(cors: Cors, { method, headers }: RawRequest, answer: ApiResponse) {
  const allow = method === 'OPTIONS' ? answer.headers?.['allow'] : undefined;
  return allow === undefined ? cors.answerHeaders(headers) : cors.preflightHeaders(headers, allow);
}

/** What a client sees of a fault: 503 where the database is away, else 500, with no detail. */
function refusalOf(fault: unknown): Refusal {
  return isUnavailable(fault)
    ? refuse('unavailable', undefined, { 'retry-after': RETRY_AFTER_SECONDS })
    : refuse('internal_error');
}
