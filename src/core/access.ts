/** Which projects a request can see. Every query of project data takes an `Access`. */
import { type AccountLimits, noLimits } from './operations/account-limits.ts';
import { DEFAULT_ACCOUNT_ID } from './records.ts';

declare const granted: unique symbol;

/** Every account: operators, the platform's own backend, and work without a request. */
export type Installation = { readonly kind: 'installation'; readonly [granted]: true };

/** All or some of one account's projects. Everything else counts as not found. */
export type AccountAccess = {
  readonly kind: 'account';
  readonly accountId: string;
  /** Null: all projects of the account, including later ones. */
  readonly projectIds: readonly string[] | null;
  /** Of the account, as loaded with its key. */
  readonly limits: AccountLimits;
  readonly [granted]: true;
};

/** Only the functions here make one: an object literal does not compile. */
export type Access = Installation | AccountAccess;

export const wholeInstallation = { kind: 'installation' } as Installation;

/** IDs are UUIDs. */
export function accessTo(
  accountId: string,
  projectIds: readonly string[] | null = null,
  limits: AccountLimits = noLimits,
): AccountAccess {
  return { kind: 'account', accountId, projectIds, limits } as AccountAccess;
}

/** Of requests without a key. */
export const noAccess = accessTo(DEFAULT_ACCOUNT_ID, []);

/** The ID, for counts of a whole account. Throws if the access is another account's. */
export function asAccount(access: Access, accountId: string): string {
  if (access.kind === 'installation' || access.accountId === accountId) return accountId;
  throw new Error('an account must not reach another one');
}

/** Throws for an account's access, which the request pipeline refuses earlier. */
export function asInstallation(access: Access): Installation {
  if (access.kind === 'installation') return access;
  throw new Error('an account must not reach what belongs to the installation');
}
