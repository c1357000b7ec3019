/** Checks the limit per address, the key, the limit per key and the scope, in this order. */

import { type Authenticate, allows, forbidden, unauthorized } from '../keys/auth.ts';
import type { KeyUsage } from '../keys/key-usage.ts';
import { type RateLimiter, rateLimitHeaders, refuseRateLimited } from '../limits/rate-limit.ts';
import type { CountedRequest } from '../limits/windows.ts';
import type { Refusal } from './errors.ts';
import type { ApiKeyIdentity, Headers, Route } from './route.ts';

/** Authentication, rate limits and key usage, one of each per process. */
export type ClientChecks = {
  readonly authenticate: Authenticate;
  readonly limits: { readonly perAddress: RateLimiter; readonly perKey: RateLimiter };
  readonly usage: Pick<KeyUsage, 'used' | 'deprecated'>;
};

type AddressedChecks = ClientChecks & {
  /** The client's address or address group, for the limit per address. */
  addressOf(remoteAddress: string | undefined, headers: Headers): string;
};

export type Admission = {
  readonly refusal: Refusal | null;
  readonly key: ApiKeyIdentity | null;
  readonly headers: Readonly<Record<string, string>>;
};

type Counted = readonly (readonly [RateLimiter, CountedRequest])[];

/** Runs before any other work. Never throws or waits. */
export function countAddress(
  { limits, addressOf }: AddressedChecks,
  remoteAddress: string | undefined,
  headers: Headers,
): readonly [RateLimiter, CountedRequest] {
  const { perAddress } = limits;
  return [perAddress, perAddress.take(addressOf(remoteAddress, headers))];
}

/** If `route` is null, only the address is counted. Rejects only if the key store fails. */
export async function admit(
  checks: ClientChecks,
  route: Route | null,
  authorization: string | undefined,
  address: readonly [RateLimiter, CountedRequest],
): Promise<Admission> {
  const { authenticate, limits, usage } = checks;
  if (!address[1].allowed) return refused(refuseRateLimited(...address), null, [address]);
  if (route === null || route.scope === null) return passed(null, [address]);
  // Tokens for a single operation are not keys, so only the address is counted.
  if (route.takesInstead?.(authorization)) return passed(null, [address]);
  const who = await authenticate(authorization);
  if (who.kind !== 'ok') return refused(unauthorized(who), null, [address]);
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
