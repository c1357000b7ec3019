/**
 * Who may reach which account's things. A store that reads or writes them takes an `Access`, or an id that one was checked
 * for; a call without either does not compile.
 */

/** Reaches every account: operators, and the platform's own backend. */
export type InstallationAccess = { readonly kind: 'installation' };

/** Reaches one account, or some projects of it. */
export type AccountAccess = {
  readonly kind: 'account';
  readonly accountId: string;
  /** Null: every project of the account. */
  readonly projectIds: readonly string[] | null;
};

/** What whoever asks may reach. What it does not reach does not exist for it. */
export type Access = InstallationAccess | AccountAccess;

/** The access of a key that belongs to no account. */
export const installation: InstallationAccess = { kind: 'installation' };

/** Whether it is for named projects of an account alone: it makes nothing that is the account's. */
export function isRestricted(access: Access): boolean {
  return access.kind === 'account' && access.projectIds !== null;
}

/** Whether an access reaches a project, known by its ids: what the stores' queries restrict themselves to. */
export function reaches(
  access: Access,
  project: { readonly id: string; readonly accountId: string },
): boolean {
  if (access.kind === 'installation') return true;
  const { accountId, projectIds } = access;
  return accountId === project.accountId && (projectIds?.includes(project.id) ?? true);
}

declare const granted: unique symbol;
/** An id of something that an access was checked for. Stores give these; nothing else makes one. */
type Granted<Of extends string> = string & { readonly [granted]: Of };

/** An account that whoever asks may reach: only `AccountStore` gives one. */
export type GrantedAccountId = Granted<'account'>;
/** A project that whoever asks may reach: only `ProjectStore`, and what reads it for operators, give one. */
export type GrantedProjectId = Granted<'project'>;
/** A domain of such a project. */
export type GrantedDomainId = Granted<'domain'>;

/** Where everything went that existed before accounts, and what is made without one goes. It has no limits of its own. */
export const DEFAULT_ACCOUNT_ID = '00000000-0000-4000-8000-000000000000';
