/** The headers that many answers share, by their names as people write them. The interface document lists none. */
import type { Header, Ref } from './model.ts';

const text = { type: 'string' } as const;
const seconds = { type: 'integer', minimum: 0 } as const;

/** A header without `required` comes with some of the answers that list it. */
const headers = {
  'X-Request-Id': {
    description: "The request's id: the client's own, or one that was made; the log has it",
    required: true,
    schema: text,
    example: '0198c1f2-7c3e-7c55-9a54-0b8d5a6f1c11',
  },
  traceparent: {
    description: 'The trace that the request belongs to (W3C Trace Context)',
    required: true,
    schema: text,
    example: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  'RateLimit-Policy': {
    description:
      'The limits that the request was counted against; missing where it was refused before it was read',
    schema: text,
    example: '"key";q=6000;w=60',
  },
  RateLimit: {
    description: 'What is left of each, and the seconds until it is whole again',
    schema: text,
    example: '"key";r=5999;t=60',
  },
  'Retry-After': { description: 'Seconds to wait', schema: seconds, example: 5 },
  'WWW-Authenticate': {
    description: 'What is wrong with the key (RFC 6750, 3)',
    required: true,
    schema: text,
    example: 'Bearer realm="signpost", error="invalid_token"',
  },
  ETag: {
    description:
      'The tag of this version, for `If-None-Match`; for `If-Match` where a change takes it',
    required: true,
    schema: text,
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
  },
  Allow: { description: 'With 405: the methods that the path takes', schema: text },
  Accept: {
    description: 'What would have been taken',
    required: true,
    schema: text,
    example: 'application/json',
  },
  'Idempotency-Replayed': {
    description: '`true`: this is the answer of an earlier request with the same Idempotency-Key',
    schema: text,
  },
} as const satisfies Readonly<Record<string, Header>>;

/** The name of a shared header, as people write it. */
export type HeaderName = keyof typeof headers;

/** The headers by the names of their components. Each is marked `x-addition`. */
export function sharedHeaders(): Readonly<Record<string, Header>> {
  return Object.fromEntries(
    Object.entries<Header>(headers).map(([name, header]) => [
      name,
      { ...header, 'x-addition': true },
    ]),
  );
}

/** References to shared headers, by the headers' names, for an answer that has them. */
export function headerRefs(...names: readonly HeaderName[]): Readonly<Record<string, Ref>> {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
  );
}

/** A lower-case header name as people write it: `WWW-Authenticate`. One that is not shared gets a capital for each word. */
export function headerTitle(name: string): string {
  const known = Object.keys(headers).find((title) => title.toLowerCase() === name);
  return known ?? name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
