import { isAccountScope } from '../../core/operations/scopes.ts';
import type { Route } from './route.ts';

/** Whether the route uses an account's data, so that `Signpost-Account` can choose the account. */
export function takesAccount({ scope }: Pick<Route, 'scope'>): boolean {
  return scope !== null && isAccountScope(scope);
}
