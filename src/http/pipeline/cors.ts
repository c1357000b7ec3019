/**
 * Which origins can call the API from a browser (Fetch standard, CORS protocol). None unless
 * configured.
 */
import type { Headers } from './route.ts';

/** CORS headers for a response, by lower-case name. */
export type Cors = {
  /** For all responses except preflights. An origin that is not allowed gets only `vary`. */
  answerHeaders(request: Headers): Readonly<Record<string, string>>;
  /** For the response to OPTIONS, with the value of its `Allow` header. */
  preflightHeaders(request: Headers, allow: string): Readonly<Record<string, string>>;
};

/** Request headers that a page can send. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent, X-Request-Id';
/** Response headers that a script can read, beside those that the Fetch standard always allows. */
const EXPOSED_HEADERS =
  'Allow, Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Sunset, Traceparent, WWW-Authenticate, X-Request-Id';
const MAX_AGE_SECONDS = '7200'; // Chromium's maximum

const none = {};

/**
 * Allows pages of `origins`, compared exactly (`https://shop.example`), without credentials
 * (cookies). Without origins, no CORS headers are sent.
 */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return { answerHeaders: () => none, preflightHeaders: () => none };
  const allowed = new Set(origins);
  // Caches must keep responses for different origins apart.
  const varies = { vary: 'Authorization, Origin' };
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
