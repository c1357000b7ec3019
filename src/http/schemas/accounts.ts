import { z } from 'zod';
import { DEFAULT_ACCOUNT_ID } from '../../core/access.ts';
import { nameText, time, uuid } from '../pipeline/json.ts';
import { pageQuery } from '../pipeline/paging.ts';

export const accountId = uuid().meta({ description: 'ID of the account' });

const name = nameText({ max: 255 }).meta({ description: 'Display name of the account' });

export const newAccount = z
  .strictObject({ name })
  .meta({ id: 'NewAccount', description: 'Account to create' });

/** An empty object changes nothing. */
export const accountChange = z
  .strictObject({ name: name.optional() })
  .meta({ id: 'AccountChange', description: 'Fields to change; omitted fields keep their values' });

/** Without `projects`, an account with projects is not closed. */
export const accountClosing = z.strictObject({
  projects: z
    .enum(['delete'], { error: 'must be delete' })
    .optional()
    .meta({ description: 'Use `delete` to also delete its projects with their live domains' }),
});

export const account = z
  .object({
    id: accountId,
    name: z.string().meta({ description: 'Display name of the account' }),
    isDefault: z.boolean().meta({
      description: 'Whether projects created without an account belong to it. It cannot be closed',
    }),
    createdAt: time().meta({ description: 'When the account was created' }),
    closedAt: z
      .nullable(time())
      .meta({ description: 'When the account was closed; null if it is open' }),
  })
  .meta({ id: 'Account', description: 'A customer of the platform, with projects and keys' });

export const accountList = z
  .array(account)
  .meta({ id: 'Accounts', description: 'Accounts, oldest first' });

export const accountsQuery = pageQuery('accounts');

export const docsAccount = {
  id: '0198c1f0-2b1c-4d7e-8a3f-6c5d4e3f2a10',
  name: 'Example Inc.',
  isDefault: false,
  createdAt: '2026-11-19T09:00:00.000Z',
  closedAt: null,
} as const;

export const docsDefaultAccount = {
  ...docsAccount,
  id: DEFAULT_ACCOUNT_ID,
  name: 'Default',
  isDefault: true,
} as const;
