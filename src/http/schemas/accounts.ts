import { z } from 'zod';
import {
  type AccountLimitName,
  accountLimitNames,
  noLimits,
  usualAccountLimits,
} from '../../core/operations/account-limits.ts';
import { DEFAULT_ACCOUNT_ID } from '../../core/records.ts';
import { nameText, time, uuid, wholeNumber } from '../pipeline/json.ts';
import { pageQuery } from '../pipeline/paging.ts';
import { component, requestComponent } from './common.ts';

export const accountId = uuid().describe('ID of the account');

/** In a body, in any case. */
export const givenId = () => uuid().transform((id) => id.toLowerCase());

const name = nameText({ max: 255 }).describe('Display name of the account');

/** The values of an account's limits, with a description each. */
const limitWords = {
  domains: 'Attached domains',
  domainsPerHour: 'Domains that can be added within an hour, removed ones included',
  projects: 'Projects',
  keys: 'Active keys',
  webhooks: 'Webhooks of its projects',
  streams: 'Open event streams, in each process',
  diagnoses: 'Diagnoses at once, in each process',
  requestsPerMinute: 'API requests per minute with its keys, or with `Signpost-Account`',
} as const satisfies Readonly<Record<AccountLimitName, string>>;

const LIMIT_MAX = 999_999_999;

function limitFields<T extends z.ZodType>(fieldOf: (words: string) => T) {
  const entries = accountLimitNames.map((name) => [name, fieldOf(limitWords[name])] as const);
  return Object.fromEntries(entries) as { readonly [N in AccountLimitName]: T }; // one per name
}

const limitChange = requestComponent(
  'AccountLimitChange',
  'Limits to set; omitted ones stay',
  limitFields((description) =>
    z
      .nullable(wholeNumber({ min: 1, max: LIMIT_MAX }))
      .optional()
      .describe(`${description}; null for the usual limit`),
  ),
);

const limits = component(
  'AccountLimits',
  'Limits of an account; null: no limit',
  limitFields((description) =>
    z.nullable(wholeNumber({ min: 1, max: LIMIT_MAX })).describe(description),
  ),
);

export const newAccount = requestComponent('NewAccount', 'Account to create', {
  name,
  limits: limitChange.optional(),
});

/** An empty object changes nothing. */
export const accountChange = requestComponent(
  'AccountChange',
  'Fields to change; omitted fields keep their values',
  { name: name.optional(), limits: limitChange.optional() },
);

/** Without `projects`, an account with projects is not closed. */
export const accountClosing = z.strictObject({
  projects: z
    .enum(['delete'], { error: 'must be delete' })
    .optional()
    .describe('Use `delete` to also delete its projects with their live domains'),
});

export const account = component('Account', 'A customer of the platform, with projects and keys', {
  id: accountId,
  name: z.string().describe('Display name of the account'),
  isDefault: z
    .boolean()
    .describe('Whether projects created without an account belong to it. It cannot be closed'),
  limits,
  createdAt: time().describe('When the account was created'),
  closedAt: z.nullable(time()).describe('When the account was closed; null if it is open'),
});

export const accountList = z
  .array(account)
  .meta({ id: 'Accounts', description: 'Accounts, oldest first' });

export const accountsQuery = pageQuery('accounts');

const used = component('LimitUsage', 'How much of a limit is used', {
  used: z
    .nullable(wholeNumber({ min: 0, max: LIMIT_MAX }))
    .describe('In use now; null if each process counts for itself'),
  limit: z.nullable(wholeNumber({ min: 1, max: LIMIT_MAX })).describe('The limit; null: no limit'),
});

export const accountUsage = component(
  'AccountUsage',
  'What an account has, and its limits',
  limitFields((description) => used.describe(description)),
);

export const docsAccount = {
  id: '0198c1f0-2b1c-4d7e-8a3f-6c5d4e3f2a10',
  name: 'Example Inc.',
  isDefault: false,
  limits: { ...usualAccountLimits, domains: 5_000 },
  createdAt: '2026-11-19T09:00:00.000Z',
  closedAt: null,
} as const;

export const docsDefaultAccount = {
  ...docsAccount,
  id: DEFAULT_ACCOUNT_ID,
  name: 'Default',
  isDefault: true,
  limits: noLimits,
} as const;

export const docsUsage = {
  domains: { used: 1_312, limit: 5_000 },
  domainsPerHour: { used: 4, limit: 300 },
  projects: { used: 12, limit: 100 },
  keys: { used: 3, limit: 50 },
  webhooks: { used: 2, limit: 100 },
  streams: { used: null, limit: 50 },
  diagnoses: { used: null, limit: 2 },
  requestsPerMinute: { used: null, limit: 6_000 },
} as const;
