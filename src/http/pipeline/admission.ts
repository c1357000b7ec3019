/**
 * Decides who may go on: by the address's limit, the key, the key's limit, its scope, its account and the account's limit, in
 * this order. The scope comes before the account, so that a route that no account's key may call looks up none.
 */

import { ACCOUNT_HEADER, type ActFor, narrowed } from '../keys/act-for.ts';
import { type Authenticate, allows, forbidden, unauthorized } from '../keys/auth.ts';
import type { KeyUsage } from '../keys/key-usage.ts';
import {
  type Counted,
  type RateLimiters,
  rateLimitHeaders,
  refuseRateLimited,
} from '../limits/rate-limit.ts';
import { type Refusal, refuse } from './errors.ts';
import type { ApiKeyIdentity, Headers, Route } from './route.ts';

/** What deciding about a request needs: the keys, the limits and where uses are noted. */
export type AdmissionDeps = {
  readonly authenticate: Authenticate;
  readonly actFor: ActFor;
  readonly limits: Pick<RateLimiters, 'perAddress' | 'perKey' | 'perAccount'>;
  readonly usage: Pick<KeyUsage, 'used' | 'deprecated'>;
  /** What a request is counted under before its key is known: the client's address, or the group that it is in. */
  addressOf(remoteAddress: string | undefined, headers: Headers): string;
};

/** Whether a request may go on, and what is known of it by then. */
export type Admission = {
  /** The 401, 403, 404 of the account, or 429 to answer with; null where the request goes on. */
  readonly refusal: Refusal | null;
  /** Null where the route needs no key, and where none was recognized. */
  readonly key: ApiKeyIdentity | null;
  /** `ratelimit-policy` and `ratelimit`, for the answer whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
};

/** Counts a request against its address, before anything else is done for it. Never throws, never waits. */
export function countAddress(
  { limits, addressOf }: AdmissionDeps,
  remoteAddress: string | undefined,
  headers: Headers,
): Counted {
  const { perAddress } = limits;
  return [perAddress, perAddress.take(addressOf(remoteAddress, headers))];
}

/**
 * Recognizes the key that a route needs, counts the request against it, asks for its scope and its account, and counts against
 * that. `route` is null where none was found: then the address alone is counted. Rejects only where a store fails.
 */
export async function admit(
  deps: AdmissionDeps,
  route: Route | null,
  headers: Headers,
  address: Counted,
): Promise<Admission> {
  const { authenticate, actFor, limits, usage } = deps;
  const { authorization } = headers;
  if (!address[1].allowed) return refused(refuseRateLimited(...address), null, [address]);
  if (route === null || route.scope === null) return passed(null, [address]);
  // A token that stands for this one operation is no key: nothing is counted against it.
  if (route.takesInstead?.(authorization)) return passed(null, [address]);
  const who = await authenticate(authorization);
  if (who.kind !== 'ok') return refused(unauthorized(who.kind), null, [address]);
  const own = [limits.perKey, limits.perKey.take(who.key.id)] as const;
  // From here on all limits go into the headers, the key's first.
  if (!own[1].allowed) return refused(refuseRateLimited(...own), who.key, [own, address]);
  usage.used(who.key.id);
  const named = headers[ACCOUNT_HEADER];
  // Refused with the key as it is: the log must not have a header that nobody has checked.
  const barred = refuseOperation(route, narrowed(who.key, named));
  if (barred !== null) return refused(barred, who.key, [own, address]);
  const key = await actFor(who.key, named);
  if ('status' in key) return refused(key, who.key, [own, address]);
  const account = countAccount(limits, key);
  const counted = account === null ? [own, address] : [own, account, address];
  if (account !== null && !account[1].allowed) {
    return refused(refuseRateLimited(...account), key, counted);
  }
  if (route.deprecated) usage.deprecated(key.id, route.operationId);
  return passed(key, counted);
}

/** Null where the key acts for no account, or for one that makes as many requests as it likes. */
function countAccount(
  { perAccount }: AdmissionDeps['limits'],
  { access, limits }: ApiKeyIdentity,
): Counted | null {
  if (access.kind !== 'account') return null;
  const quota = limits?.requestsPerMinute ?? null;
  return quota === null ? null : perAccount.count(access.accountId, quota);
}

/** Why a key may not call an operation at all; null where it may. */
function refuseOperation({ scope, operators }: Route, key: ApiKeyIdentity): Refusal | null {
  // First, as no scope that a key of an account can have would let it in.
  if (operators === true && key.access.kind !== 'installation') return refuse('installation_only');
  return scope === null || scope === 'any' || allows(key, scope) ? null : forbidden(scope);
}

function passed(key: ApiKeyIdentity | null, counted: readonly Counted[]): Admission {
  return { refusal: null, key, headers: rateLimitHeaders(counted) };
}

function refused(
  refusal: Refusal,
  key: ApiKeyIdentity | null,
  counted: readonly Counted[],
): Admission {
  return { refusal, key, headers: rateLimitHeaders(counted) };
}
