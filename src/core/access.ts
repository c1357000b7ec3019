/** Whose projects a request sees. Every query of a project's things takes one. */

declare const granted: unique symbol;

/** Every account: operators, the platform's own backend, and work without a request. */
export type Installation = { readonly kind: 'installation'; readonly [granted]: true };

/** One account's projects, or only some of them. Everything else does not exist. */
export type AccountAccess = {
  readonly kind: 'account';
  readonly accountId: string;
  /** Null: all projects of the account, including later ones. */
  readonly projectIds: readonly string[] | null;
  readonly [granted]: true;
};

/** Only the functions here make one: an object literal does not compile. */
export type Access = Installation | AccountAccess;

export const wholeInstallation = { kind: 'installation' } as Installation;

/** IDs are UUIDs. */
export function accessTo(
  accountId: string,
  projectIds: readonly string[] | null = null,
): AccountAccess {
  return { kind: 'account', accountId, projectIds } as AccountAccess;
}

/** Has everything that existed before there were accounts, and projects made without one. */
export const DEFAULT_ACCOUNT_ID = '00000000-0000-4000-8000-000000000000';

/** Of requests without a key. */
export const noAccess = accessTo(DEFAULT_ACCOUNT_ID, []);

/** Throws if the access is an account's: the pipeline refuses it before. */
export function asInstallation(access: Access): Installation {
  if (access.kind === 'installation') return access;
  throw new Error('an account must not reach what belongs to the installation');
}
