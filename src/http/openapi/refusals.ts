/** Which error codes an operation can return, from its handler and from every step before it. */

import { type ErrorCode, errors } from '../pipeline/errors.ts';
import { type Route, type Tag, takesIdempotencyKey } from '../pipeline/route.ts';

/** Errors that any request can get, listed as each operation's `default` response. */
export const anywhere = [
  'account_unsupported',
  'not_found',
  'account_not_found',
  'method_not_allowed',
  'request_timeout',
  'account_closed',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
] as const satisfies readonly ErrorCode[];

/** Ascending, each in the order of the checks. Omits `anywhere` unless the route lists them. */
export function refusalsOf(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codesOf(route))) {
    const [status] = errors[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** src/http/pipeline/render.ts adds it to these responses. */
export function hasEntityTag({ method, momentary }: Route): boolean {
  return method === 'GET' && momentary !== true;
}

function codesOf(route: Route): readonly ErrorCode[] {
  const { body, scope, refusals = [] } = route;
  return [
    'bad_request',
    'too_many_connections',
    'rate_limited',
    ...when(scope !== null, 'unauthorized', 'unavailable'),
    ...when(scope !== null && scope !== 'any', 'insufficient_scope'),
    'invalid_query',
    ...when(body !== undefined, 'unsupported_media_type', 'body_too_large'),
    ...when(body !== undefined, 'malformed_json', 'json_too_deep', 'invalid_body'),
    ...when(takesIdempotencyKey(route), 'invalid_idempotency_key'),
    ...when(takesIdempotencyKey(route), 'idempotency_key_in_use', 'idempotency_key_reused'),
    ...when(route.takesPreconditions === true, 'precondition_failed'),
    ...refusals,
  ];
}

function when(condition: boolean, ...codes: readonly ErrorCode[]): readonly ErrorCode[] {
  return condition ? codes : [];
}

/** The document shows only tags that have operations. */
export const tagDescriptions = {
  Pets: 'Pets in the store.',
  Projects: 'Projects with their plan and deploys. Domains are attached to a project.',
  Domains: 'Custom domains, from the DNS record to the certificate.',
  Events: "Events of a project's domains as a live stream.",
  Webhooks: 'Events sent to your URL.',
  Keys: 'API keys and their scopes.',
  Accounts: 'Customers of the platform. Each sees only its own projects and keys.',
  Operations: "The operator's view of the installation.",
  Service: 'Health probes, this document and the API reference.',
} as const satisfies Readonly<Record<Tag, string>>;

export const keyDescription =
  'API key: `Authorization: Bearer <key>`. A key has scopes; `admin` implies all others.';

/** The pages support only paragraphs, lists, `code` and emphasis of Markdown. */
export const apiDescription = `
All bodies are JSON in UTF-8. Times are RFC 3339 in UTC.

**Whole numbers** marked int64 are exact from -9223372036854775808 to 9223372036854775807. Use a parser that keeps their precision: JavaScript's \`JSON.parse\` rounds numbers beyond 2^53.

**Errors** have one shape, \`{code, message, status}\`, plus \`errors\` for each wrong field, \`requestId\` and \`docs\`. Branch on \`code\`; messages may change. Responses can get new fields at any time. Unknown fields and query parameters in requests are refused.

**Retries and caching.** A \`POST\` with an \`Idempotency-Key\` takes effect once, even if it is repeated. A \`GET\` with \`If-None-Match\` returns 304 if nothing changed, except for diagnoses, signing secrets and event streams. Operations that accept \`If-Match\` change only that version; otherwise they return 412. \`HEAD\` works wherever \`GET\` does. \`OPTIONS\` lists the methods of a path.

**Limits.** Every counted request gets a \`RateLimit\` header. Requests refused before they are read do not count. 429 and 503 responses have a \`Retry-After\` header. Bodies are limited to 64 KiB and 32 levels of nesting, request targets to 8 KiB.

**Request IDs.** Every response has an \`X-Request-Id\`. It is yours if you sent one of 1 to 64 letters, digits, dots, hyphens and underscores. Include it in support requests. \`traceparent\` (W3C Trace Context) is supported.

**Stability.** Every operation has a stability level. *Stable* operations do not change before \`/v2\`. *Beta* operations change after a notice in the changelog, *experimental* ones at any time. Additions (\`x-addition\`) go beyond the interface of the pets API.
`.trim();
