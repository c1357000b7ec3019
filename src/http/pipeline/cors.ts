/** Which pages of other origins may call the API (Fetch standard, HTTP-CORS protocol). None unless configured. */
import type { Headers } from './route.ts';

/** Header fields by lower-case names, to be added to an answer. */
export type Cors = {
  /** For every answer but a preflight's. An origin that is not allowed gets `vary` only. */
  answerHeaders(request: Headers): Readonly<Record<string, string>>;
  /** For the answer to OPTIONS, beside its `Allow`, whose value is `allow`. */
  preflightHeaders(request: Headers, allow: string): Readonly<Record<string, string>>;
};

/** Request headers of the API that a page may send. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Signpost-Account, Traceparent, X-Request-Id';
/** Answer headers that a script may read, beside those that the Fetch standard always lets it read. */
const EXPOSED_HEADERS =
  'Allow, Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Sunset, Traceparent, WWW-Authenticate, X-Request-Id';
const MAX_AGE_SECONDS = '7200'; // Chromium caps it there

const none = {};

/**
 * Allows pages of `origins`, compared letter by letter (`https://shop.example`), and no credentials (cookies). Without any
 * origin, no answer gets a header for this.
 */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return { answerHeaders: () => none, preflightHeaders: () => none };
  const allowed = new Set(origins);
  // A cache must not give one origin's answer to another.
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
