/** Which pages of other origins may call the API (Fetch standard, HTTP-CORS protocol). None unless configured. */
import type { Headers } from './route.ts';

export type Cors = {
  /** What an answer says to a page of the origin that the request names. */
  answerHeaders(request: Headers): Readonly<Record<string, string>>;
  /** What a preflight is answered, beside `Allow`. */
  preflightHeaders(request: Headers, allow: string): Readonly<Record<string, string>>;
};

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent, X-Request-Id';
const EXPOSED_HEADERS =
  'Allow, Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Sunset, Traceparent, WWW-Authenticate, X-Request-Id';
const MAX_AGE_SECONDS = '7200'; // Chromium caps it there

const none = {};

/** An origin counts where it is listed letter by letter; credentials (cookies) are never allowed. */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return { answerHeaders: () => none, preflightHeaders: () => none };
  const allowed = new Set(origins);
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
