/** Accounts, which own projects and keys. */
import { type Access, accessTo, asInstallation } from '../../core/access.ts';
import {
  type AccountLimitName,
  accountLimitNames,
  limitsOf,
} from '../../core/operations/account-limits.ts';
import { type Account, DEFAULT_ACCOUNT_ID } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import { countUsage } from '../../db/account-usage.ts';
import type { Service } from '../../service/service.ts';
import type { ForgetCredential } from '../keys/auth.ts';
import { cursorAfterPlace } from '../pipeline/cursor.ts';
import { type ApiResponse, refuse } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import {
  account,
  accountChange,
  accountClosing,
  accountList,
  accountsQuery,
  accountUsage,
  docsAccount,
  docsDefaultAccount,
  docsUsage,
  newAccount,
} from '../schemas/accounts.ts';
import { type Deleting, removeWithDomains } from './delete-project.ts';
import type { DropTraffic } from './domains.ts';

type AfterAccountChange = { readonly dropTraffic: DropTraffic; readonly forget: ForgetCredential };

/** Reads show an account itself; only the installation changes accounts. */
export function accountRoutes(service: Service, after: AfterAccountChange): readonly Route[] {
  return [
    listAccounts(service),
    createAccount(service),
    getAccount(service),
    getUsage(service),
    updateAccount(service),
    closeAccount(service, after),
  ];
}

const inCommon = { tag: 'Accounts', stability: 'beta' } as const;
const accountsPath = '/v1/accounts';
const accountPath = '/v1/accounts/:accountId';

function listAccounts(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${accountsPath}`,
    scope: 'domains:read',
    operationId: 'listAccounts',
    summary: 'List accounts',
    description:
      "Lists accounts in pages, oldest first, including closed ones. With an account's key, only this account.",
    query: accountsQuery,
    success: success(200, 'A page of accounts', accountList, [docsDefaultAccount, docsAccount]),
    handle: async ({ access, query: { limit, cursor = null } }) => {
      const page = await service.accounts.list(access, { after: cursor, limit });
      return pageAnswer(page, cursorAfterPlace, (one) => accountView(service, one));
    },
  });
}

function createAccount(service: Service): Route {
  const { accounts, now } = service;
  return route({
    ...inCommon,
    at: `POST ${accountsPath}`,
    scope: 'admin',
    operationId: 'createAccount',
    summary: 'Create an account',
    description:
      'An account is a customer of your platform. Its keys reach only its own projects. To act for it with your own key, send `Signpost-Account: <id>`.',
    body: newAccount,
    bodyExample: { name: docsAccount.name },
    success: success(201, 'The account was created', account, docsAccount, {
      location: 'Path of the account',
    }),
    handle: async ({ access, body }) => {
      const created = await accounts.create(asInstallation(access), body, now());
      const headers = { location: `${accountsPath}/${created.id}` };
      return { status: 201, body: accountView(service, created), headers };
    },
  });
}

function getAccount(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${accountPath}`,
    scope: 'domains:read',
    operationId: 'getAccount',
    summary: 'Get one account',
    success: success(200, 'The account', account, docsAccount),
    refusals: ['account_not_found'],
    handle: async ({ access, params }) =>
      shown(service, await findAccount(service, access, params.accountId)),
  });
}

/** The reads are one statement, except for the limits. */
function getUsage(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${accountPath}/usage`,
    scope: 'domains:read',
    operationId: 'getAccountUsage',
    summary: 'Show what an account uses',
    success: success(200, 'The usage of each limit', accountUsage, docsUsage),
    refusals: ['key_restricted', 'account_not_found'],
    handle: async ({ access, params }) => {
      if (access.kind === 'account' && access.projectIds !== null) return refuse('key_restricted');
      const account = await findAccount(service, access, params.accountId);
      if (account === null) return refuse('account_not_found');
      const { config, database, now } = service;
      const limits = limitsOf(account, config.api.accountLimits);
      const counted = await countUsage(database.prisma, access, account.id, now());
      const all: Partial<Record<AccountLimitName, number>> = counted;
      const usage = accountLimitNames.map((name) => [
        name,
        { used: all[name] ?? null, limit: limits[name] },
      ]);
      return { status: 200, body: Object.fromEntries(usage) };
    },
  });
}

/** Idempotent. */
function updateAccount(service: Service): Route {
  return route({
    ...inCommon,
    at: `PATCH ${accountPath}`,
    scope: 'admin',
    operationId: 'updateAccount',
    summary: 'Change an account',
    description:
      'Changes the given fields, of a closed account too. A limit of null is the usual one again. An account that already has more than a new limit keeps it. Limits that each process counts change within 5 seconds.',
    body: accountChange,
    bodyExample: { limits: { domains: 5_000n } },
    success: success(200, 'The changed account', account, docsAccount),
    refusals: ['account_not_found'],
    handle: async ({ access, params: { accountId }, body }) => {
      if (!isUuid(accountId)) return refuse('account_not_found');
      const { accounts } = service;
      return shown(service, await accounts.update(asInstallation(access), accountId, body));
    },
  });
}

/** Closes first, so that nothing is added while its projects are deleted. A repetition continues. */
function closeAccount(service: Service, { dropTraffic, forget }: AfterAccountChange): Route {
  return route({
    ...inCommon,
    at: `DELETE ${accountPath}`,
    scope: 'admin',
    operationId: 'closeAccount',
    summary: 'Close an account',
    description:
      'All processes refuse its keys within 5 seconds. An account with projects is only closed with `projects=delete`, which removes their domains, live ones too. A closed account stays readable, and cannot be opened again. What its projects leave is erased after 30 days. If the request fails, repeat it.',
    commitsInSteps: true,
    query: accountClosing,
    success: success(204, 'The account is closed'),
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
      for (const keyId of closing.endedKeys) forget(keyId);
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
  const [what, them] = count === 1 ? ['project', 'it'] : ['projects', 'them'];
  return `The account has ${count} ${what}. Delete ${them} first, or use ?projects=delete.`;
}

const DELETED_AT_ONCE = 100;

async function deleteProjects(
  service: Service,
  accountId: string,
  deleting: Deleting,
): Promise<void> {
  const operator = asInstallation(deleting.access);
  // A project that is moved to another account at the same time is not deleted.
  const inAccount = { ...deleting, access: accessTo(accountId) };
  for (;;) {
    const ids = await service.accounts.projectIds(operator, accountId, DELETED_AT_ONCE);
    if (ids.length === 0) return;
    for (const id of ids) await removeWithDomains(service, id, inAccount);
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

function shown(service: Service, found: Account | null): ApiResponse {
  return found === null
    ? refuse('account_not_found')
    : { status: 200, body: accountView(service, found) };
}

function accountView({ config }: Service, account: Account) {
  const { id, name, createdAt, closedAt } = account;
  const limits = limitsOf(account, config.api.accountLimits);
  return { id, name, isDefault: id === DEFAULT_ACCOUNT_ID, limits, createdAt, closedAt };
}
