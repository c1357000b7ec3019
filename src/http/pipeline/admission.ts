/** Checks, in this order: the address's limit, the key, its limit, its scope, the account and its limit. */

import type { ApiConfig } from '../../config/config.ts';
import { type Access, accessTo, noAccess, wholeInstallation } from '../../core/access.ts';
import { limitsOf } from '../../core/operations/account-limits.ts';
import { isUuid } from '../../core/uuid.ts';
import type { AccountStore } from '../../db/accounts.ts';
import { type Authenticate, allows, forbidden, unauthorized } from '../keys/auth.ts';
import type { KeyUsage } from '../keys/key-usage.ts';
import {
  type RateLimiter,
  type RateLimiters,
  rateLimitHeaders,
  refuseRateLimited,
} from '../limits/rate-limit.ts';
import type { CountedRequest } from '../limits/windows.ts';
import { type Refusal, refuse } from './errors.ts';
import { type ApiKeyIdentity, type Headers, type Route, takesAccount } from './route.ts';

/** Authentication, rate limits and key usage, one of each per process. */
export type ClientChecks = {
  readonly authenticate: Authenticate;
  readonly limits: {
    readonly perAddress: RateLimiter;
    readonly perKey: RateLimiter;
    readonly perAccount: RateLimiters['perAccount'];
  };
  readonly usage: Pick<KeyUsage, 'used' | 'deprecated'>;
};

type Checks = ClientChecks & {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly accountLimits: ApiConfig['accountLimits'];
  /** The client's address or address group, for the limit per address. */
  addressOf(remoteAddress: string | undefined, headers: Headers): string;
};

export type Admission = {
  readonly refusal: Refusal | null;
  readonly key: ApiKeyIdentity | null;
  readonly access: Access;
  readonly headers: Readonly<Record<string, string>>;
};

type AdmittedHeaders = { readonly headers: Headers; readonly isOfPage?: true };

type CountedRequests = readonly (readonly [RateLimiter, CountedRequest])[];

/** Runs before any other work. Never throws or waits. */
export function countAddress(
  { limits, addressOf }: Checks,
  remoteAddress: string | undefined,
  headers: Headers,
): readonly [RateLimiter, CountedRequest] {
  const { perAddress } = limits;
  return [perAddress, perAddress.take(addressOf(remoteAddress, headers))];
}

/** If `route` is null, only the address is counted. Rejects only if the key store fails. */
export async function admit(
  checks: Checks,
  route: Route | null,
  { headers, isOfPage }: AdmittedHeaders,
  address: readonly [RateLimiter, CountedRequest],
): Promise<Admission> {
  const { authenticate, limits, usage } = checks;
  const { authorization, 'signpost-account': account } = headers;
  if (!address[1].allowed) return refused(refuseRateLimited(...address), null, [address]);
  if (route === null || route.scope === null) return passed(null, [address]);
  // Tokens for a single operation are not keys, so only the address is counted.
  if (route.takesInstead?.(authorization)) return passed(null, [address]);
  const who = await authenticate(authorization, { takesSession: isOfPage === true });
  if (who.kind !== 'ok') return refused(unauthorized(who), null, [address]);
  const { key } = who;
  const own = [limits.perKey, limits.perKey.take(key.id)] as const;
  if (!own[1].allowed) return refused(refuseRateLimited(...own), key, [own, address]);
  usage.used(key.id);
  if (route.scope !== 'any' && !allows(key, route.scope))
    return refused(forbidden(route.scope), key, [own, address]);
  if (route.deprecated) usage.deprecated(key.id, route.operationId);
  const access = await accessFor(checks, route, key, account);
  if ('body' in access) return refused(access, key, [own, address]);
  const ofAccount = countAccount(limits.perAccount, access);
  if (ofAccount === null) return passed(key, [own, address], access);
  const counted = [own, ofAccount, address];
  return ofAccount[1].allowed
    ? passed(key, counted, access)
    : refused(refuseRateLimited(...ofAccount), key, counted);
}

/** Null: its requests have no limit. */
function countAccount(
  perAccount: RateLimiters['perAccount'],
  access: Access,
): readonly [RateLimiter, CountedRequest] | null {
  if (access.kind === 'installation') return null;
  const { accountId, limits } = access;
  const { requestsPerMinute: quota } = limits;
  if (quota === null) return null;
  const limiter = perAccount(quota);
  return [limiter, limiter.take(accountId)];
}

const unknownAccount = 'There is no account with the ID in Signpost-Account.';

/** An account's key can only name its own account: others do not exist. */
async function accessFor(
  { accounts, accountLimits }: Checks,
  route: Route,
  { access }: ApiKeyIdentity,
  account: string | undefined,
): Promise<Access | Refusal> {
  if (account === undefined || route.scope === 'any') return access;
  if (!takesAccount(route)) return refuse('account_unsupported');
  const id = account.toLowerCase();
  if (access.kind === 'account') {
    return id === access.accountId ? access : refuse('account_not_found', unknownAccount);
  }
  const found = isUuid(id) ? await accounts.find(wholeInstallation, id) : null;
  if (found === null) return refuse('account_not_found', unknownAccount);
  return found.closedAt === null
    ? accessTo(found.id, null, limitsOf(found, accountLimits))
    : refuse('account_closed');
}

function passed(
  key: ApiKeyIdentity | null,
  counted: CountedRequests,
  access: Access = noAccess,
): Admission {
  return { refusal: null, key, access, headers: rateLimitHeaders(counted) };
}

function refused(
  refusal: Refusal,
  key: ApiKeyIdentity | null,
  counted: CountedRequests,
): Admission {
  return { refusal, key, access: noAccess, headers: rateLimitHeaders(counted) };
}
