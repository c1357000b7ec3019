import { OLD_SECRET_MS } from './webhook-plan.ts';

/** A consistent snapshot. */
export type EdgeRoute = {
  readonly hostname: string;
  readonly projectId: string;
  /** Its path is prepended to the request's. Null: no deploy. */
  readonly upstream: string | null;
  /** The deploy whose CA certificates verify the upstream; null: those that Node.js trusts. */
  readonly upstreamCaId: string | null;
  readonly certificateId: string | null;
  readonly redirect: { readonly to: string; readonly status: number } | null;
  readonly primary: string | null;
  readonly signing: Signing;
  /** The header of every HTTPS response; null: the deploy's own is passed on. */
  readonly hsts: string | null;
};

/** Strict-Transport-Security (RFC 6797, 6.1). */
export type Hsts = {
  /** Seconds; 0 clears the policy in browsers. */
  readonly maxAge: number;
  readonly includeSubdomains: boolean;
  /** Allows browsers to include it in their preload list (hstspreload.org). */
  readonly preload: boolean;
};

/** Seconds. `most`: what hstspreload.org recommends; `leastToPreload`: its requirement. */
export const hstsMaxAge = { most: 63_072_000, leastToPreload: 31_536_000 } as const;

export function mayPreload({ maxAge, includeSubdomains, preload }: Hsts): boolean {
  return !preload || (includeSubdomains && maxAge >= hstsMaxAge.leastToPreload);
}

export function hstsField({ maxAge, includeSubdomains, preload }: Hsts): string {
  const subdomains = includeSubdomains ? '; includeSubDomains' : '';
  return `max-age=${maxAge}${subdomains}${preload ? '; preload' : ''}`;
}

type Signing = {
  readonly generation: number;
  /** Until then (ms since 1970) the previous generation's key also signs. */
  readonly oldEndsAt: number | null;
};

export function oldKeyEndsAt(rotatedAt: Date | null): Date | null {
  return rotatedAt === null ? null : new Date(rotatedAt.getTime() + OLD_SECRET_MS);
}

/** Times as in src/core/operations/route-memory.ts. */
export type RouteNotification =
  /** Every change from now on is notified. Repeated after notifications can have been lost. */
  | { readonly kind: 'listening'; readonly since: number }
  /** Every change committed before `until` has been notified. Not sent while that is unknown. */
  | { readonly kind: 'complete'; readonly until: number }
  /** Open requests for the name end. */
  | { readonly kind: 'gone'; readonly hostname: string }
  | { readonly kind: 'changed'; readonly hostname: string }
  /** Affects every name of the project. */
  | { readonly kind: 'project_changed'; readonly projectId: string };

/** A payload of the trigger function tell_edges(); null if the kind is unknown. Never throws. */
export function parseRouteNotification(payload: string): RouteNotification | null {
  const [verb, subject = ''] = payload.split(' ');
  switch (verb) {
    case 'gone':
    case 'changed':
      return { kind: verb, hostname: subject };
    case 'project':
      return { kind: 'project_changed', projectId: subject };
    default:
      return null;
  }
}
