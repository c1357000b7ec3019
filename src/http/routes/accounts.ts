/** Accounts: whose the projects and their keys are. */
import { type Access, asInstallation, DEFAULT_ACCOUNT_ID } from '../../core/access.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Account } from '../../core/records.ts';
import type { Service } from '../../service/service.ts';
import { type ApiResponse, refuse } from '../pipeline/errors.ts';
import { pageAnswer, pageHeaders } from '../pipeline/paging.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  account,
  accountChange,
  accountClosing,
  accountList,
  accountsQuery,
  docsAccount,
  docsDefaultAccount,
  newAccount,
} from '../schemas/accounts.ts';
import { type Deleting, removeWithDomains } from './delete-project.ts';
import type { DropTraffic } from './domains.ts';
import type { ForgetKey } from './keys.ts';

type Role = { readonly dropTraffic: DropTraffic; readonly forgetKey: ForgetKey };

/** Reads show an account itself; only the installation changes accounts. */
export function accountRoutes(service: Service, role: Role): readonly Route[] {
  return [
    listAccounts(service),
    createAccount(service),
    getAccount(service),
    updateAccount(service),
    closeAccount(service, role),
  ];
}

const inCommon = { tag: 'Accounts', stability: 'beta' } as const;
const accountsPath = '/v1/accounts';
const accountPath = '/v1/accounts/:accountId';

function listAccounts({ accounts }: Service): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: accountsPath,
    scope: 'domains:read',
    operationId: 'listAccounts',
    summary: 'List accounts',
    description:
      "Lists accounts in pages, oldest first, including closed ones. With an account's key, only this account.",
    query: accountsQuery,
    success: {
      status: 200,
      description: 'A page of accounts',
      schema: accountList,
      example: [docsDefaultAccount, docsAccount],
      headers: pageHeaders,
    },
    handle: async ({ access, query: { limit, cursor = null } }) => {
      const page = await accounts.list(access, { after: cursor, limit });
      return pageAnswer(page, { path: accountsPath, filters: { limit } }, accountView);
    },
  });
}

function createAccount({ accounts, now }: Service): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: accountsPath,
    scope: 'admin',
    operationId: 'createAccount',
    summary: 'Create an account',
    description:
      'An account is a customer of your platform. Its keys reach only its own projects. To act for it with your own key, send `Signpost-Account: <id>`.',
    body: newAccount,
    bodyExample: { name: docsAccount.name },
    success: {
      status: 201,
      description: 'The account was created',
      schema: account,
      example: docsAccount,
      headers: { location: 'Path of the account' },
    },
    handle: async ({ access, body: { name } }) => {
      const created = await accounts.create(asInstallation(access), name, now());
      const headers = { location: `${accountsPath}/${created.id}` };
      return { status: 201, body: accountView(created), headers };
    },
  });
}

function getAccount(service: Service): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: accountPath,
    scope: 'domains:read',
    operationId: 'getAccount',
    summary: 'Get one account',
    success: { status: 200, description: 'The account', schema: account, example: docsAccount },
    refusals: ['account_not_found'],
    handle: async ({ access, params }) =>
      shown(await findAccount(service, access, params.accountId)),
  });
}

/** Idempotent. */
function updateAccount({ accounts }: Service): Route {
  return route({
    ...inCommon,
    method: 'PATCH',
    path: accountPath,
    scope: 'admin',
    operationId: 'updateAccount',
    summary: 'Change an account',
    description: 'Changes the given fields, of a closed account too.',
    body: accountChange,
    bodyExample: { name: docsAccount.name },
    success: {
      status: 200,
      description: 'The changed account',
      schema: account,
      example: docsAccount,
    },
    refusals: ['account_not_found'],
    handle: async ({ access, params: { accountId }, body: { name } }) => {
      if (!isUuid(accountId)) return refuse('account_not_found');
      const operator = asInstallation(access);
      return shown(
        name === undefined
          ? await accounts.find(operator, accountId)
          : await accounts.rename(operator, accountId, name),
      );
    },
  });
}

/** Closes first, so that nothing is added while its projects are deleted. A repetition continues. */
function closeAccount(service: Service, { dropTraffic, forgetKey }: Role): Route {
  return route({
    ...inCommon,
    method: 'DELETE',
    path: accountPath,
    scope: 'admin',
    operationId: 'closeAccount',
    summary: 'Close an account',
    description:
      'All processes refuse its keys within 5 seconds. An account with projects is only closed with `projects=delete`, which removes their domains, live ones too. A closed account stays readable, and cannot be opened again. If the request fails, repeat it.',
    query: accountClosing,
    success: { status: 204, description: 'The account is closed' },
    refusals: ['account_not_found', 'default_account', 'account_has_projects'],
    handle: async ({ access, params: { accountId }, query: { projects }, requestId }) => {
      if (!isUuid(accountId)) return refuse('account_not_found');
      const operator = asInstallation(access);
      const how = { at: service.now(), withProjects: projects === 'delete' };
      const closing = await service.accounts.close(operator, accountId, how);
      if (closing.kind === 'not_found') return refuse('account_not_found');
      if (closing.kind === 'default_account') return refuse('default_account');
      if (closing.kind === 'has_projects') {
        return refuse('account_has_projects', hasProjects(closing.count));
      }
      for (const keyId of closing.endedKeys) forgetKey(keyId);
      await deleteProjects(service, accountId, {
        access: operator,
        keepsServed: false,
        requestId,
        dropTraffic,
      });
      return { status: 204 };
    },
  });
}

function hasProjects(count: number): string {
  return `The account has ${count} ${count === 1 ? 'project' : 'projects'}. Delete them first, or use ?projects=delete.`;
}

const DELETED_AT_ONCE = 100;

async function deleteProjects(
  service: Service,
  accountId: string,
  deleting: Deleting,
): Promise<void> {
  const operator = asInstallation(deleting.access);
  for (;;) {
    const ids = await service.accounts.projectIds(operator, accountId, DELETED_AT_ONCE);
    if (ids.length === 0) return;
    for (const id of ids) await removeWithDomains(service, id, deleting);
  }
}

/** Text that is not a UUID costs no query. */
async function findAccount(
  { accounts }: Pick<Service, 'accounts'>,
  access: Access,
  id: string,
): Promise<Account | null> {
  return isUuid(id) ? accounts.find(access, id) : null;
}

function shown(found: Account | null): ApiResponse {
  return found === null ? refuse('account_not_found') : { status: 200, body: accountView(found) };
}

function accountView({ id, name, createdAt, closedAt }: Account) {
  return { id, name, isDefault: id === DEFAULT_ACCOUNT_ID, createdAt, closedAt };
}
