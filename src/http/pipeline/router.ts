import FindMyWay from 'find-my-way';
import type { ApiResponse } from './errors.ts';
import { type Refusal, refuse } from './errors.ts';
import type { Route } from './route.ts';

export type RouteMatch =
  | {
      readonly kind: 'route';
      readonly route: Route;
      /** Percent-decoded; never empty. */
      readonly params: Readonly<Record<string, string>>;
      /** A name can occur more than once. */
      readonly query: URLSearchParams;
    }
  | { readonly kind: 'answer'; readonly answer: ApiResponse };

/** Never throws. */
export type Router = (method: string, target: string) => RouteMatch;

export const MAX_TARGET_LENGTH = 8_192; // octets; RFC 9110, 4.1 requires at least 8,000

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Throws if two routes share method and path. HEAD uses GET's route; OPTIONS gets `Allow`. */
export function createRouter(routes: readonly Route[]): Router {
  const paths = FindMyWay({ maxParamLength: MAX_TARGET_LENGTH });
  for (const route of routes) paths.on(route.method, route.path, () => {}, route);
  return (method, target) => {
    // RFC 9110, 9.3.7: `*` is the whole server.
    if (method === 'OPTIONS' && target === '*') {
      return {
        kind: 'answer',
        answer: otherwise(method, [...methods, 'HEAD', 'OPTIONS'].join(', ')),
      };
    }
    const url = split(target);
    if (!url.ok) return { kind: 'answer', answer: url.refusal };
    const wanted = methods.find((known) => known === (method === 'HEAD' ? 'GET' : method));
    const match = wanted === undefined ? null : matching(paths, wanted, url.path);
    if (match !== null) {
      // The store is the route given to `on`; every parameter of a matched path has a value.
      const [route, params] = [match.store as Route, match.params as Record<string, string>];
      return { kind: 'route', route, params, query: url.query };
    }
    return { kind: 'answer', answer: otherwise(method, allowed(paths, url.path)) };
  };
}

function otherwise(method: string, allow: string | null): ApiResponse {
  if (allow === null) return refuse('not_found');
  if (method === 'OPTIONS') return { status: 204, headers: { allow } };
  const message = `This path does not support this method. It supports ${allow}.`;
  return refuse('method_not_allowed', message, { allow }); // RFC 9110, 15.5.6
}

type Paths = ReturnType<typeof FindMyWay>;

/** Null if a parameter would be empty, as in `/v1/pets/`. */
function matching(paths: Paths, method: (typeof methods)[number], path: string) {
  const match = paths.find(method, path);
  return match !== null && Object.values(match.params).includes('') ? null : match;
}

function allowed(paths: Paths, path: string): string | null {
  const own = methods.filter((method) => matching(paths, method, path) !== null);
  if (own.length === 0) return null;
  return [...own, ...(own.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
}

type SplitTarget =
  | { readonly ok: true; readonly path: string; readonly query: URLSearchParams }
  | { readonly ok: false; readonly refusal: Refusal };

/** RFC 9112, 3.2.1 and 3.2.2. Refuses paths that are not percent-encoded UTF-8. */
function split(target: string): SplitTarget {
  if (target.length > MAX_TARGET_LENGTH) return { ok: false, refusal: refuse('uri_too_long') };
  const [, path, query = ''] =
    /^(?:https?:\/\/[^/?#]+)?(\/[^?#]*)(?:\?([^#]*))?$/i.exec(target) ?? [];
  if (path === undefined || !isDecodable(path)) {
    const message =
      'The request target must be a path with an optional query, in percent-encoded UTF-8.';
    return { ok: false, refusal: refuse('bad_request', message) };
  }
  return { ok: true, path, query: new URLSearchParams(query) };
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
