/**
 * Routes of the edge: where it sends the requests for a host name, which headers it adds, and the
 * notifications about route changes.
 */
import { OLD_SECRET_MS } from './webhook-plan.ts';

/** A consistent snapshot of how requests for one host name are handled. */
export type EdgeRoute = {
  readonly hostname: string;
  readonly projectId: string;
  /** An http or https URL; its path is prepended to the request's. Null: no deploy. */
  readonly upstream: string | null;
  /** The deploy whose CA certificates verify the upstream; null: those that Node.js trusts. */
  readonly upstreamCaId: string | null;
  /** The certificate to serve; null: none yet. */
  readonly certificateId: string | null;
  /** Redirects visitors to another domain of the project, with this status. */
  readonly redirect: { readonly to: string; readonly status: number } | null;
  /** The project's primary domain, passed to the deploy; null: none chosen. */
  readonly primary: string | null;
  /** The key that signs requests to the deploy. */
  readonly signing: Signing;
  /**
   * The Strict-Transport-Security header for every HTTPS response; null: the deploy's own is passed
   * on.
   */
  readonly hsts: string | null;
};

/** Strict-Transport-Security of a domain (RFC 6797, 6.1). */
export type Hsts = {
  /** Seconds; 0 clears the policy in browsers. */
  readonly maxAge: number;
  /** Also covers every name below it. */
  readonly includeSubdomains: boolean;
  /** Allows browsers to include it in their preload list (hstspreload.org). */
  readonly preload: boolean;
};

/** Seconds. `most`: what hstspreload.org recommends; `leastToPreload`: its requirement. */
export const hstsMaxAge = { most: 63_072_000, leastToPreload: 31_536_000 } as const;

/**
 * Whether a setting meets the preload requirements (hstspreload.org), if it asks for preloading.
 */
export function mayPreload({ maxAge, includeSubdomains, preload }: Hsts): boolean {
  return !preload || (includeSubdomains && maxAge >= hstsMaxAge.leastToPreload);
}

/** Formats the header's value. */
export function hstsField({ maxAge, includeSubdomains, preload }: Hsts): string {
  const subdomains = includeSubdomains ? '; includeSubDomains' : '';
  return `max-age=${maxAge}${subdomains}${preload ? '; preload' : ''}`;
}

/** The project's signing key, derived in src/certificates/vault/derived-secrets.ts. */
type Signing = {
  /** Starts at 1; each rotation adds one. */
  readonly generation: number;
  /**
   * The previous generation's key also signs until then, in milliseconds since 1970; null: it does
   * not.
   */
  readonly oldEndsAt: number | null;
};

/** When the key that was replaced at `rotatedAt` stops signing; null if there was no rotation. */
export function oldKeyEndsAt(rotatedAt: Date | null): Date | null {
  return rotatedAt === null ? null : new Date(rotatedAt.getTime() + OLD_SECRET_MS);
}

/**
 * Notifications that a running edge process receives. Times as in
 * src/core/operations/route-memory.ts.
 */
export type RouteNotification =
  /** Every change from now on is notified. Sent again after notifications may have been lost. */
  | { readonly kind: 'listening'; readonly since: number }
  /** Every change committed before `until` has been notified. Not sent while that is unknown. */
  | { readonly kind: 'complete'; readonly until: number }
  /** The name was removed, so open requests for it end. */
  | { readonly kind: 'gone'; readonly hostname: string }
  /** The name's route may have changed. */
  | { readonly kind: 'changed'; readonly hostname: string }
  /** Affects every name of the project. */
  | { readonly kind: 'project_changed'; readonly projectId: string };

/**
 * Parses a payload of the trigger function tell_edges(); null if the kind is unknown. Never throws.
 */
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
