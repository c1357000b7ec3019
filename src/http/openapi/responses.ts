import { type ErrorCode, errors } from '../pipeline/errors.ts';
import { isPaged } from '../pipeline/paging.ts';
import { type Route, type Success, takesIdempotencyKey } from '../pipeline/route.ts';
import { error } from '../schemas/common.ts';
import type { SchemaWriter } from './json-schema.ts';
import type { Example, Header, MediaType, Ref, Response } from './model.ts';
import { anywhere, hasEntityTag, refusalsOf } from './refusals.ts';

type Responses = Readonly<Record<string, Response | Ref>>;

const always = ['X-Request-Id', 'traceparent', 'RateLimit-Policy', 'RateLimit'] as const;

const headersByStatus: Readonly<Record<string, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  415: ['Accept'],
  429: ['Retry-After'],
  503: ['Retry-After'],
  default: ['Allow'],
};

/** Errors that many operations share, by component name. The interface defines only the first. */
const shared: Readonly<Record<string, readonly [status: string, codes: readonly ErrorCode[]]>> = {
  Unauthorized: ['401', ['unauthorized']],
  BadRequest: ['400', ['bad_request', 'invalid_query']],
  Forbidden: ['403', ['insufficient_scope']],
  IdempotencyKeyInUse: ['409', ['idempotency_key_in_use']],
  BodyTooLarge: ['413', ['body_too_large']],
  UnsupportedMediaType: ['415', ['unsupported_media_type']],
  IdempotencyKeyReused: ['422', ['idempotency_key_reused']],
  RateLimited: ['429', ['rate_limited']],
  Unavailable: ['503', ['too_many_connections', 'unavailable']],
  TooManyConnections: ['503', ['too_many_connections']],
  Otherwise: ['default', anywhere],
};

/** Shared responses are references to `sharedResponses`. */
export function responsesOf(route: Route, schemas: SchemaWriter): Responses {
  const refusals = [...refusalsOf(route)].map(
    ([status, codes]) => [status, refusalOf(route, String(status), codes, schemas)] as const,
  );
  return Object.fromEntries<Response | Ref>([
    [route.success.status, successOf(route, schemas)],
    ...(hasEntityTag(route) ? [[304, responseRef('NotModified')] as const] : []),
    ...refusals,
    ['default', responseRef('Otherwise')],
  ]);
}

/** What `responsesOf` references. All except Unauthorized are marked `x-addition`. */
export function sharedResponses(schemas: SchemaWriter): Readonly<Record<string, Response>> {
  const refusals = Object.entries(shared).map(([name, [status, codes]]) => {
    const response = refusal(status, codes, schemas);
    return [name, name === 'Unauthorized' ? response : addition(response)] as const;
  });
  return { NotModified: notModified, ...Object.fromEntries(refusals) };
}

export function errorExamples(): Readonly<Record<string, Example>> {
  return Object.fromEntries(
    Object.entries(errors).map(([code, [status, message]]) => [
      code,
      { value: { code, message, status, requestId: EXAMPLE_ID, docs: `/docs/errors#${code}` } },
    ]),
  );
}

/** It has the same entity tag as the 200. */
const notModified = addition({
  description: 'Not changed since the version in `If-None-Match`; no body',
  headers: headerRefs(...always, 'ETag'),
});

function successOf(route: Route, schemas: SchemaWriter): Response {
  const { success } = route;
  const headers = headerRefs(
    ...always,
    ...(hasEntityTag(route) ? (['ETag'] as const) : []),
    ...(isPaged(route) ? (['Link'] as const) : []),
    ...(takesIdempotencyKey(route) ? (['Idempotency-Replayed'] as const) : []),
  );
  const content = contentOf(success, schemas);
  return {
    description: success.description,
    headers: { ...headers, ...ownHeaders(route) },
    ...(content && { content }),
  };
}

/** JSON if the route has a schema, text if it has a media type, otherwise undefined: no body. */
function contentOf(success: Success, schemas: SchemaWriter): Response['content'] {
  const { schema, mediaType, example } = success;
  if (schema !== undefined) {
    return { 'application/json': media({ schema: schemas.output(schema), example }) };
  }
  return mediaType && { [mediaType]: media({ schema: { type: 'string' }, example }) };
}

function media({ schema, example }: MediaType): MediaType {
  return { schema, ...(example !== undefined && { example }) };
}

/** Statuses that the interface defines are written out, except 401, a component there. */
function refusalOf(
  route: Route,
  status: string,
  codes: readonly ErrorCode[],
  schemas: SchemaWriter,
): Response | Ref {
  const isListed = route.original?.statuses.includes(Number(status));
  const name = Object.keys(shared).find((known) => isShared(known, status, codes));
  if (name !== undefined && (!isListed || name === 'Unauthorized')) return responseRef(name);
  const plain = refusal(status, codes, schemas);
  // A deprecated operation's own errors also list its headers.
  const isOwn = route.refusals?.some((code) => codes.includes(code));
  const response =
    route.deprecated && isOwn
      ? { ...plain, headers: { ...plain.headers, ...ownHeaders(route) } }
      : plain;
  return route.original === undefined || isListed ? response : addition(response);
}

function isShared(name: string, status: string, codes: readonly ErrorCode[]): boolean {
  const [sharedStatus, sharedCodes = []] = shared[name] ?? [];
  return status === sharedStatus && codes.join() === sharedCodes.join();
}

function refusal(status: string, codes: readonly ErrorCode[], schemas: SchemaWriter): Response {
  const examples = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }] as const);
  return {
    description: codes.map((code) => `- \`${code}\`: ${errors[code][1]}`).join('\n'),
    headers: headerRefs(...always, ...(headersByStatus[status] ?? [])),
    content: {
      'application/json': {
        schema: schemas.output(error),
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Headers of this operation only. The interface defines no headers. */
function ownHeaders({ success, original, deprecated }: Route): Readonly<Record<string, Header>> {
  return Object.fromEntries(
    Object.entries(success.headers ?? {}).map(([name, description]) => {
      const required = deprecated === true || name === 'location';
      const header = {
        description,
        ...(required && { required }),
        schema: { type: 'string' },
      } as const;
      return [headerTitle(name), original === undefined ? header : addition(header)];
    }),
  );
}

function addition<T extends Response | Header>(thing: T): T {
  return { ...thing, 'x-addition': true };
}

function responseRef(name: string): Ref {
  return { $ref: `#/components/responses/${name}` };
}

const EXAMPLE_ID = '0198c1f2-7c3e-7c55-9a54-0b8d5a6f1c11';
const text = { type: 'string' } as const;
const seconds = { type: 'integer', minimum: 0 } as const;

/** A header without `required` is sent with only some of the responses that list it. */
const headers = {
  'X-Request-Id': {
    description: "ID of the request: the client's own or a generated one. The log contains it",
    required: true,
    schema: text,
    example: EXAMPLE_ID,
  },
  traceparent: {
    description: 'Trace of the request (W3C Trace Context)',
    required: true,
    schema: text,
    example: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  'RateLimit-Policy': {
    description:
      'The rate limits that count this request; missing if the request was refused before it was read',
    schema: text,
    example: '"key";q=6000;w=60',
  },
  RateLimit: {
    description: 'Remaining requests per limit, and the seconds until it resets',
    schema: text,
    example: '"key";r=5999;t=60',
  },
  Link: {
    description:
      'The next page as `rel="next"`, if there is one; also after fewer items than `limit`, because a page has at most 1 MB',
    schema: text,
  },
  'Retry-After': { description: 'Seconds to wait', schema: seconds, example: 5 },
  'WWW-Authenticate': {
    description: 'The problem with the key (RFC 6750, 3)',
    required: true,
    schema: text,
    example: 'Bearer realm="signpost", error="invalid_token"',
  },
  ETag: {
    description:
      'Entity tag of this version, for `If-None-Match`, and for `If-Match` if the operation accepts it',
    required: true,
    schema: text,
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
  },
  Allow: { description: 'With 405: the methods that the path supports', schema: text },
  Accept: {
    description: 'Supported media type',
    required: true,
    schema: text,
    example: 'application/json',
  },
  'Idempotency-Replayed': {
    description:
      '`true` if this is the stored response to an earlier request with the same Idempotency-Key',
    schema: text,
  },
} as const satisfies Readonly<Record<string, Header>>;

type HeaderName = keyof typeof headers;

/** All are marked `x-addition`. */
export function sharedHeaders(): Readonly<Record<string, Header>> {
  return Object.fromEntries(
    Object.entries<Header>(headers).map(([name, header]) => [
      name,
      { ...header, 'x-addition': true },
    ]),
  );
}

function headerRefs(...names: readonly HeaderName[]): Readonly<Record<string, Ref>> {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
  );
}

/** `www-authenticate` gives `WWW-Authenticate`; unknown names get a capital per word. */
function headerTitle(name: string): string {
  const known = Object.keys(headers).find((title) => title.toLowerCase() === name);
  return known ?? name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
