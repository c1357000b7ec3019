/** What a new key may reach: never more than the key that makes it. */
import { type Access, type GrantedProjectId, installation } from '../../core/accounts/access.ts';
import type { AccountStore } from '../../db/accounts.ts';
import type { KeyOwner } from '../../db/api-keys.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { accountScopes, type Scope } from '../pipeline/route.ts';
import { accountFor } from './accounts.ts';

/** Where accounts and projects are found. */
export type ReachDeps = {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly projects: Pick<ProjectStore, 'among'>;
};

/** What a new key is to be for, as its maker says. */
export type Restriction = {
  readonly scopes: readonly Scope[];
  readonly accountId?: string | undefined;
  readonly projectIds?: readonly string[] | undefined;
};
/** Whose a new key is, and the projects that it is for; none: all that the owner has. */
export type Reach = { readonly owner: KeyOwner; readonly projectIds: readonly GrantedProjectId[] };

/** Whose the new key is and what it is for, or why it cannot be made: never more than the key that asks has itself. */
export async function reachOf(
  { accounts, projects }: ReachDeps,
  access: Access,
  { scopes: wanted, accountId, projectIds = [] }: Restriction,
): Promise<Reach | Refusal> {
  if (access.kind === 'installation' && accountId === undefined) {
    return projectIds.length === 0
      ? { owner: installation, projectIds: [] }
      : refuse('invalid_body', 'projectIds: need an accountId');
  }
  const owner = await accountFor(accounts, access, accountId);
  if (typeof owner !== 'string') return owner;
  const misfit = wanted.find((scope) => !isAccountScope(scope));
  if (misfit !== undefined) {
    return refuse('invalid_body', `scopes: ${misfit} is for keys of the installation alone`);
  }
  if (projectIds.length > 0 && wanted.includes('admin')) {
    return refuse('invalid_body', 'projectIds: a key with admin is for the whole account');
  }
  const within: Access = { kind: 'account', accountId: owner, projectIds: null };
  const granted = await projects.among(within, projectIds);
  return granted.length === new Set(projectIds).size
    ? { owner, projectIds: granted }
    : refuse('project_not_found', 'projectIds: the account has no such project');
}

function isAccountScope(scope: Scope): boolean {
  return accountScopes.some((one) => one === scope);
}
