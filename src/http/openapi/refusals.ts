/** Which codes an operation can answer with: its own, and those of everything that its requests pass through. */
import { type ErrorCode, errors } from '../pipeline/errors.ts';
import { accountScopes, type Route, type Tag } from '../pipeline/route.ts';

/** What any request can run into, whatever it asks for; the `default` answer of every operation lists them. */
export const anywhere = [
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'uri_too_long',
  'expectation_failed',
  'misdirected',
  'headers_too_large',
  'internal_error',
] as const satisfies readonly ErrorCode[];

/**
 * The codes that an operation can answer with, by status, ascending; each list in the order in which a request meets them.
 * Those of `anywhere` are left out, unless the route lists one itself.
 */
export function refusalsOf(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codesOf(route))) {
    const [status] = errors[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Whether the operation reads an Idempotency-Key: a POST that needs a key (src/http/pipeline/api.ts). */
export function takesIdempotencyKey({ method, scope }: Route): boolean {
  return method === 'POST' && scope !== null;
}

/** Whether an installation's key may act for an account there: wherever a key of an account may be used. */
export function takesAccount({ scope, operators }: Route): boolean {
  if (scope === null || operators === true) return false;
  return scope === 'any' || accountScopes.some((one) => one === scope);
}

/** Whether the operation's 200 has an entity tag, and 304 answers If-None-Match (src/http/pipeline/render.ts). */
export function hasEntityTag({ method, momentary }: Route): boolean {
  return method === 'GET' && momentary !== true;
}

/** A code may come twice, where a route lists one that its steps bring, too. */
function codesOf(route: Route): readonly ErrorCode[] {
  const { body, scope, refusals = [] } = route;
  return [
    'bad_request',
    'too_many_connections',
    'rate_limited',
    ...when(scope !== null, 'unauthorized', 'unavailable'),
    ...when(takesAccount(route), 'account_not_found'),
    ...when(scope !== null && scope !== 'any', 'insufficient_scope'),
    ...when(route.operators === true, 'installation_only'),
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

/** A sentence for each tag. The document shows those that have an operation. */
export const tagDescriptions = {
  Pets: "The store's animals.",
  Accounts: 'Customers of the platform: what one of them has, no other one sees.',
  Projects: 'What domains are attached to: its plan and its deploys.',
  Domains: "Customers' own domains, from the record to create to the certificate.",
  Events: 'What happens to the domains of a project, as it happens.',
  Webhooks: 'The same events, sent to a URL of yours.',
  Keys: 'Who may call the API, and what they may do.',
  Audit: 'Who changed what, when and from where.',
  Operations: 'What needs an operator.',
  Service: 'Probes, this document and the pages that show it.',
} as const satisfies Readonly<Record<Tag, string>>;

/** What a client has to send, for the document's security scheme. */
export const keyDescription =
  'An API key: `Authorization: Bearer <key>`. A key has scopes; `admin` implies all the others.';

/**
 * The document's introduction, in Markdown: paragraphs, lists, `code` and emphasis, which is all that the pages can show.
 */
export const apiDescription = `
Every body is JSON in UTF-8; times are RFC 3339 in UTC.

**Whole numbers** marked int64 are exact from -9223372036854775808 to 9223372036854775807. Read them with a parser that keeps them so: JavaScript's \`JSON.parse\` does not, beyond 2^53.

**Errors** have one shape, \`{code, message, status}\`. Decide by \`code\`; messages may change. An answer may get fields that are not listed here; a body and a query may not have any.

**Again.** A \`POST\` with an \`Idempotency-Key\` has its effect once, however often it is sent. A \`GET\`, but for a diagnosis, a signing secret and a stream of events, with \`If-None-Match\` is answered 304 while nothing has changed. Where an operation takes \`If-Match\`, it changes that version or, with 412, nothing. \`HEAD\` works wherever \`GET\` does; \`OPTIONS\` says what a path takes.

**Limits.** Every answer to a request that was counted carries \`RateLimit\`; what is refused before it is read counts against nothing. 429 and 503 say in \`Retry-After\` when to try again. A body may have 64 KiB and nest 32 levels, a request target 8 KiB.

**Which request.** Every answer carries \`X-Request-Id\`: yours, if you sent one of 1 to 64 letters, digits, dots, hyphens and underscores. Quote it when you ask about an answer. \`traceparent\` (W3C Trace Context) is taken up.

**Stability.** Every operation says how much of it may change: *stable* not before \`/v2\`, *beta* after a notice in the changelog, *experimental* at any time. What is marked as an addition (\`x-addition\`) goes beyond the interface document of the pets API.
`.trim();
