/** Accounts: made, changed and closed by the installation; each of them sees its own. */
import type { Access, AccountAccess, GrantedAccountId } from '../../core/accounts/access.ts';
import { DEFAULT_ACCOUNT_ID } from '../../core/accounts/access.ts';
import { type AccountLimits, limitsOf } from '../../core/accounts/limits.ts';
import type { Subject } from '../../core/operations/audit.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Account } from '../../core/records.ts';
import type { AccountStore, GrantedAccount } from '../../db/accounts.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { asked, linkDocs, pageOf, placeOfMade } from '../pipeline/page.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  account,
  accountChange,
  accountList,
  accountQuery,
  docsAccount,
  newAccount,
} from '../schemas/accounts.ts';

/** What the operations on accounts call. */
export type AccountRoutesDeps = {
  readonly accounts: AccountStore;
  /** What holds for an account without limits of its own. */
  readonly limits: AccountLimits;
  readonly now: () => Date;
};

const inCommon = { tag: 'Accounts', scope: 'admin', stability: 'beta' } as const;
const accountsPath = '/v1/accounts';
const accountPath = '/v1/accounts/:accountId';
const shown = { schema: account, example: docsAccount } as const;

/** The operations on accounts. Those that change one are the installation's alone. */
export function accountRoutes(deps: AccountRoutesDeps): readonly Route[] {
  return [listAccounts, createAccount, getAccount, updateAccount, closeAccount].map((make) =>
    make(deps),
  );
}

function listAccounts(deps: AccountRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: accountsPath,
    operationId: 'listAccounts',
    summary: 'List accounts',
    description: 'The oldest first, closed ones among them; a key of an account sees its own.',
    query: accountQuery,
    success: {
      status: 200,
      description: 'A page of accounts',
      schema: accountList,
      example: [docsAccount],
      headers: linkDocs('accounts'),
    },
    handle: async ({ key, query }) => {
      const found = await deps.accounts.list(key.access, asked(query));
      const listed = { path: accountsPath, limit: query.limit };
      const { rows, headers } = pageOf(found, placeOfMade, listed);
      return { status: 200, body: rows.map((one) => accountView(deps, one)), headers };
    },
  });
}

/** Not idempotent: names may repeat, so a request that is sent again makes another account, but with an Idempotency-Key. */
function createAccount(deps: AccountRoutesDeps): Route {
  return route({
    ...inCommon,
    operators: true,
    audits: 'account',
    method: 'POST',
    path: accountsPath,
    operationId: 'createAccount',
    summary: 'Make an account',
    description:
      'For one customer of the platform. Make a key of it with `POST /v1/keys` and its `accountId`, or act for it with `Signpost-Account`.',
    body: newAccount,
    bodyExample: { name: docsAccount.name },
    success: {
      status: 201,
      description: 'The account was made',
      ...shown,
      headers: { location: 'The path of the account' },
    },
    handle: async ({ key, body: { name, limits = {} } }) => {
      const made = await deps.accounts.create(key.access, { name, limits: given(limits) });
      const headers = { location: `${accountsPath}/${made.id}` };
      return { status: 201, body: accountView(deps, made), headers, about: subjectOf(made.id) };
    },
  });
}

function getAccount(deps: AccountRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: accountPath,
    operationId: 'getAccount',
    summary: 'Get one account',
    success: { status: 200, description: 'The account', ...shown },
    refusals: ['account_not_found'],
    handle: async ({ key, params }) => {
      const found = await findAccount(deps.accounts, key.access, params.accountId);
      return found === null
        ? refuse('account_not_found')
        : { status: 200, body: accountView(deps, found) };
    },
  });
}

/** Idempotent. */
function updateAccount(deps: AccountRoutesDeps): Route {
  return route({
    ...inCommon,
    operators: true,
    audits: 'account',
    method: 'PATCH',
    path: accountPath,
    operationId: 'updateAccount',
    summary: 'Change an account',
    description:
      'Changes the name, the limits or both. Lower limits take nothing away: they refuse what comes after.',
    body: accountChange,
    bodyExample: { limits: { domains: 5_000 } },
    success: { status: 200, description: 'The account as it is now', ...shown },
    refusals: ['account_not_found'],
    handle: async ({ key, params, body: { name, limits } }) => {
      const found = await findAccount(deps.accounts, key.access, params.accountId);
      if (found === null) return refuse('account_not_found');
      const change = { name, limits: limits && given(limits) };
      const changed = await deps.accounts.update(key.access, found.id, change);
      return { status: 200, body: accountView(deps, changed), about: subjectOf(changed.id) };
    },
  });
}

/** Idempotent. */
function closeAccount(deps: AccountRoutesDeps): Route {
  return route({
    ...inCommon,
    operators: true,
    audits: 'account',
    method: 'DELETE',
    path: accountPath,
    operationId: 'closeAccount',
    summary: 'Close an account',
    description:
      'Its keys are refused everywhere within 5 seconds, and nothing is made in it any more; what happened stays. Its domains have to be removed first. An id of no account is 404.',
    success: { status: 204, description: 'The account is closed' },
    refusals: ['account_not_found', 'account_in_use', 'default_account'],
    handle: async ({ key, params }) => {
      const found = await findAccount(deps.accounts, key.access, params.accountId);
      if (found === null) return refuse('account_not_found');
      const { kind } = await deps.accounts.close(key.access, found.id, deps.now());
      if (kind === 'default') return refuse('default_account');
      return kind === 'in_use'
        ? refuse('account_in_use')
        : { status: 204, about: subjectOf(found.id) };
    },
  });
}

/** The account itself, which sees that it was made, changed or closed. */
function subjectOf(id: string): Subject {
  return { kind: 'account', id, accountId: id };
}

/** The account; null where there is none, or the access does not reach it. */
export async function findAccount(
  accounts: Pick<AccountStore, 'find'>,
  access: Access,
  id: string,
): Promise<GrantedAccount | null> {
  return isUuid(id) ? accounts.find(access, id) : null;
}

/**
 * The account in which something is made: the one that the body names, else that of the key, else the one without limits
 * that everything without an account goes to. Refuses with `account_not_found` where the access does not reach it, or it is
 * closed.
 */
export async function accountFor(
  accounts: Pick<AccountStore, 'find'>,
  access: Access,
  named: string | undefined,
): Promise<GrantedAccountId | Refusal> {
  const id = named ?? ownAccount(access)?.accountId ?? DEFAULT_ACCOUNT_ID;
  const found = await findAccount(accounts, access, id);
  if (found === null || found.closedAt !== null) return refuse('account_not_found');
  return found.id;
}

function ownAccount(access: Access): AccountAccess | null {
  return access.kind === 'account' ? access : null;
}

/** Without the fields that are missing. */
function given<Limits extends object>(limits: Limits) {
  const fields = Object.entries(limits).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields) as { [Name in keyof Limits]?: number | null };
}

/** The Account of docs/api.md. */
function accountView({ limits }: AccountRoutesDeps, found: Account) {
  const { id, name, createdAt, closedAt } = found;
  return { id, name, limits: limitsOf(found.limits, limits), createdAt, closedAt };
}
