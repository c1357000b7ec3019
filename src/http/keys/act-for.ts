/** `Signpost-Account`: which account a key of the installation acts for in one request. */
import { LRUCache } from 'lru-cache';
import { type AccountLimits, limitsOf } from '../../core/accounts/limits.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Account } from '../../core/records.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type ApiKeyIdentity, accountScopes } from '../pipeline/route.ts';

/** The name of the header, as requests carry it. */
export const ACCOUNT_HEADER = 'signpost-account';

/** What is asked for the accounts that requests name. */
export type ActForDeps = {
  /** Null where there is no account with this id, a UUID. */
  readonly findAccount: (id: string) => Promise<Pick<Account, 'closedAt' | 'limits'> | null>;
  /** What holds for accounts without limits of their own. */
  readonly limits: AccountLimits;
  readonly now: () => Date;
};

/**
 * The key as it acts in a request with this value of the header: undefined leaves it as it is. Refuses with
 * `account_not_found` an account that is closed, that there is not, or that the key does not reach. Rejects only where the
 * store fails.
 */
export type ActFor = (
  key: ApiKeyIdentity,
  accountId: string | undefined,
) => Promise<ApiKeyIdentity | Refusal>;

const REMEMBERED_MS = 5_000; // as long as a key is (auth.ts): an account that was closed is refused everywhere by then
const REMEMBERED_MAX = 10_000;

/** Remembers open accounts for 5 s; one that was not found is looked up each time. */
export function createActFor({ findAccount, limits: configured, now }: ActForDeps): ActFor {
  type Open = { readonly since: number; readonly limits: AccountLimits };
  const open = new LRUCache<string, Open>({ max: REMEMBERED_MAX });

  /** Null where it is closed, or there is none. */
  async function limitsOfOpen(id: string): Promise<AccountLimits | null> {
    const at = now().getTime();
    const known = open.get(id);
    if (known !== undefined && at >= known.since && at - known.since < REMEMBERED_MS) {
      return known.limits;
    }
    const found = isUuid(id) ? await findAccount(id) : null;
    if (found === null || found.closedAt !== null) return null;
    const limits = limitsOf(found.limits, configured);
    open.set(id, { since: at, limits });
    return limits;
  }

  return async (key, accountId) => {
    if (accountId === undefined) return key;
    const { access } = key;
    if (access.kind === 'account') {
      return accountId === access.accountId ? key : refuse('account_not_found');
    }
    const limits = await limitsOfOpen(accountId);
    if (limits === null) return refuse('account_not_found');
    return { ...narrowed(key, accountId), limits };
  };
}

/**
 * What is left of a key with this value of the header, where there is such an account: of the installation's what a key of
 * the account can have. A key of an account stays as it is, and so does every key without the header.
 */
export function narrowed(key: ApiKeyIdentity, accountId: string | undefined): ApiKeyIdentity {
  if (accountId === undefined || key.access.kind === 'account') return key;
  const { id, scopes } = key;
  return {
    id,
    scopes: accountScopes.filter((scope) => scopes.includes(scope)),
    access: { kind: 'account', accountId, projectIds: null },
    actsFor: true,
  };
}
