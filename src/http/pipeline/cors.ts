/** The Fetch standard's CORS protocol. Without configured origins, no CORS headers are sent. */
import type { Headers } from './route.ts';

export type Cors = {
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
