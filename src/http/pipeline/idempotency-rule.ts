import type { Route } from './route.ts';

/** Every POST that requires a key, unless each request is meant to have an effect. */
export function takesIdempotencyKey({
  method,
  scope,
  isRepeated,
}: Pick<Route, 'method' | 'scope' | 'isRepeated'>): boolean {
  return method === 'POST' && scope !== null && isRepeated !== true;
}
