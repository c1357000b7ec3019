/**
 * Decides who may go on: by the address's limit, the key, the key's limit and its scope, in this order, the cheapest first.
 */

import { type Authenticate, allows, forbidden, unauthorized } from '../keys/auth.ts';
import type { KeyUsage } from '../keys/key-usage.ts';
import { type RateLimiter, rateLimitHeaders, refuseRateLimited } from '../limits/rate-limit.ts';
import type { Taken } from '../limits/windows.ts';
import type { Refusal } from './errors.ts';
import type { ApiKeyIdentity, Headers, Route } from './route.ts';

/** What deciding about a request needs: the keys, the limits and where uses are noted. */
export type AdmissionDeps = {
  readonly authenticate: Authenticate;
  readonly limits: { readonly perAddress: RateLimiter; readonly perKey: RateLimiter };
  readonly usage: Pick<KeyUsage, 'used' | 'deprecated'>;
  /** What a request is counted under before its key is known: the client's address, or the group that it is in. */
  addressOf(remoteAddress: string | undefined, headers: Headers): string;
};

/** Whether a request may go on, and what is known of it by then. */
export type Admission = {
  /** The 401, 403 or 429 to answer with; null where the request goes on. */
  readonly refusal: Refusal | null;
  /** Null where the route needs no key, and where none was recognized. */
  readonly key: ApiKeyIdentity | null;
  /** `ratelimit-policy` and `ratelimit`, for the answer whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
};

/** The limits that a request was counted against, the key's first. */
type Counted = readonly (readonly [RateLimiter, Taken])[];

/** Counts a request against its address, before anything else is done for it. Never throws, never waits. */
export function countAddress(
  { limits, addressOf }: AdmissionDeps,
  remoteAddress: string | undefined,
  headers: Headers,
): readonly [RateLimiter, Taken] {
  const { perAddress } = limits;
  return [perAddress, perAddress.take(addressOf(remoteAddress, headers))];
}

/**
 * Recognizes the key that a route needs, counts the request against it and asks for its scope. `route` is null where none
 * was found: then the address alone is counted. Rejects only where the key store fails.
 */
export async function admit(
  deps: AdmissionDeps,
  route: Route | null,
  authorization: string | undefined,
  address: readonly [RateLimiter, Taken],
): Promise<Admission> {
  const { authenticate, limits, usage } = deps;
  if (!address[1].allowed) return refused(refuseRateLimited(...address), null, [address]);
  if (route === null || route.scope === null) return passed(null, [address]);
  // A token that stands for this one operation is no key: nothing is counted against it.
  if (route.takesInstead?.(authorization)) return passed(null, [address]);
  const who = await authenticate(authorization);
  if (who.kind !== 'ok') return refused(unauthorized(who.kind), null, [address]);
  const { key } = who;
  const own = [limits.perKey, limits.perKey.take(key.id)] as const;
  // From here on both limits go into the headers, the key's first.
  if (!own[1].allowed) return refused(refuseRateLimited(...own), key, [own, address]);
  usage.used(key.id);
  if (route.scope !== 'any' && !allows(key, route.scope))
    return refused(forbidden(route.scope), key, [own, address]);
  if (route.deprecated) usage.deprecated(key.id, route.operationId);
  return passed(key, [own, address]);
}

function passed(key: ApiKeyIdentity | null, counted: Counted): Admission {
  return { refusal: null, key, headers: rateLimitHeaders(counted) };
}

function refused(refusal: Refusal, key: ApiKeyIdentity | null, counted: Counted): Admission {
  return { refusal, key, headers: rateLimitHeaders(counted) };
}
