/**
 * Where the edge sends the visitors of a host name and what it says to them and to the deploy, and the notifications by which
 * a process learns of changes to that.
 */
import { OLD_SECRET_MS } from './webhook-plan.ts';

/** How the requests for one host name are answered, all of it of one moment. */
export type EdgeRoute = {
  readonly hostname: string;
  readonly projectId: string;
  /** An http or https URL; a path in it is put before the request's. Null: nothing is deployed. */
  readonly upstream: string | null;
  /** The deploy whose own authorities its certificate is verified by; null: those that Node.js trusts. */
  readonly upstreamCaId: string | null;
  /** The certificate to serve; null: there is none yet. */
  readonly certificateId: string | null;
  /** Where visitors are sent instead of to the upstream: a domain of the same project, and the status to say it with. */
  readonly redirect: { readonly to: string; readonly status: number } | null;
  /** The project's primary domain, for its deploy to know; null: none is chosen. */
  readonly primary: string | null;
  /** What signs the requests to the deploy. */
  readonly signing: Signing;
  /** The field Strict-Transport-Security of every answer over HTTPS; null: the deploy's own is passed on. */
  readonly hsts: string | null;
};

/** Strict-Transport-Security of a domain (RFC 6797, 6.1): for how long browsers reach it over HTTPS alone. */
export type Hsts = {
  /** In seconds; 0: they forget it. */
  readonly maxAge: number;
  /** Binds every name below it, wherever that leads. */
  readonly includeSubdomains: boolean;
  /** Browsers may have it in their own list (hstspreload.org). */
  readonly preload: boolean;
};

/** In seconds. The longest is our choice, and what hstspreload.org recommends; the least for preloading is its own rule. */
export const hstsMaxAge = { most: 63_072_000, leastToPreload: 31_536_000 } as const;

/** Whether a setting fits the rules of preloading (hstspreload.org), where it asks for that. */
export function mayPreload({ maxAge, includeSubdomains, preload }: Hsts): boolean {
  return !preload || (includeSubdomains && maxAge >= hstsMaxAge.leastToPreload);
}

/** The value of the field. */
export function hstsField({ maxAge, includeSubdomains, preload }: Hsts): string {
  const subdomains = includeSubdomains ? '; includeSubDomains' : '';
  return `max-age=${maxAge}${subdomains}${preload ? '; preload' : ''}`;
}

/** By which of a project's keys its requests are signed. The keys are derived (src/certificates/vault/derived-secrets.ts). */
export type Signing = {
  /** From 1 on; one more with each rotation. */
  readonly generation: number;
  /** Until then the key of the generation before signs as well, in milliseconds since 1970; null: it does not. */
  readonly oldEndsAt: number | null;
};

/** When a key signs no more that was replaced at `rotatedAt`; null where none was. */
export function oldKeyEndsAt(rotatedAt: Date | null): Date | null {
  return rotatedAt === null ? null : new Date(rotatedAt.getTime() + OLD_SECRET_MS);
}

/** What an edge process is notified of while it runs. Times as in src/core/operations/route-memory.ts. */
export type RouteNotification =
  /** From now on every change is notified. Sent again where one may have been missed. */
  | { readonly kind: 'listening'; readonly since: number }
  /** Every change committed before `until` has been notified. Not sent while that is not known. */
  | { readonly kind: 'complete'; readonly until: number }
  /** Nobody holds the name any more: what is under way for it ends. */
  | { readonly kind: 'gone'; readonly hostname: string }
  /** The name's route may be another one. */
  | { readonly kind: 'changed'; readonly hostname: string }
  /** Every name of the project. */
  | { readonly kind: 'project_changed'; readonly projectId: string };

/** Reads a payload of the trigger function tell_edges(); null: of a kind that this version does not know. Never throws. */
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
