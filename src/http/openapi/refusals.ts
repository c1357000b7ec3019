/** Which codes an operation can answer with: its own, and those of everything that its requests pass through. */
import { type ErrorCode, errors } from '../errors.ts';
import type { Route } from '../route.ts';

/** What any request can run into, wherever it was meant to go: the `default` response. */
export const anywhere = [
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
] as const satisfies readonly ErrorCode[];

/** The codes by status, ascending; each list in the order in which a request meets them. */
export function refusalsOf(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codesOf(route))) {
    const [status] = errors[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Whether an Idempotency-Key is looked at: a POST by somebody (src/http/api.ts). */
export function takesIdempotencyKey({ method, scope }: Route): boolean {
  return method === 'POST' && scope !== null;
}

/** Whether its 200 can be asked for again with If-None-Match (src/http/render.ts). */
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
