/** Who may go on: the address's limit, the key, the key's limit, its scope. In this order, each before the next one costs. */

import { type Authenticate, allows, forbidden, unauthorized } from '../keys/auth.ts';
import type { KeyUsage } from '../keys/key-usage.ts';
import { type RateLimiter, rateLimitHeaders, refuseRateLimited } from '../limits/rate-limit.ts';
import type { Taken } from '../limits/windows.ts';
import type { Refusal } from './errors.ts';
import type { ApiKeyIdentity, Headers, Route } from './route.ts';

export type AdmissionDeps = {
  readonly authenticate: Authenticate;
  readonly limits: { readonly perAddress: RateLimiter; readonly perKey: RateLimiter };
  readonly usage: Pick<KeyUsage, 'used' | 'deprecated'>;
  /** What a request is counted under before its key is known. */
  addressOf(remoteAddress: string | undefined, headers: Headers): string;
};

export type Admission = {
  /** Null: it goes on. */
  readonly refusal: Refusal | null;
  readonly key: ApiKeyIdentity | null;
  /** The limits that it was counted against, for the answer whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
};

type Counted = readonly (readonly [RateLimiter, Taken])[];

/** Counts a request against its address, before anything else is done for it. */
export function countAddress(
  { limits, addressOf }: AdmissionDeps,
  remoteAddress: string | undefined,
  headers: Headers,
): readonly [RateLimiter, Taken] {
  const { perAddress } = limits;
  return [perAddress, perAddress.take(addressOf(remoteAddress, headers))];
}

/** Recognises the key that a route needs, counts the request against it and asks for its scope. Throws faults only. */
export async function admit(
  deps: AdmissionDeps,
  route: Route | null,
  authorization: string | undefined,
  address: readonly [RateLimiter, Taken],
): Promise<Admission> {
  const { authenticate, limits, usage } = deps;
  if (!address[1].allowed) return refused(refuseRateLimited(...address), null, [address]);
  if (route === null || route.scope === null) return passed(null, [address]);
  if (route.takesInstead?.(authorization)) return passed(null, [address]);
  const who = await authenticate(authorization);
  if (who.kind !== 'ok') return refused(unauthorized(who.kind), null, [address]);
  const { key } = who;
  const own = [limits.perKey, limits.perKey.take(key.id)] as const;
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
