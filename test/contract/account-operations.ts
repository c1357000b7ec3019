import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import type { OperationAsks } from './operations.ts';
import type { Asking } from './requests.ts';

const NO_ACCOUNT = '00000000-0000-4000-8000-00000000000f';
const toNoAccount =
  (json?: object): Asking =>
  () => ({ params: { accountId: NO_ACCOUNT }, ...(json !== undefined && { json }) });
const ofAccount: Asking = ({ accountId }) => ({ params: { accountId } });

/** For projects and keys: an account that is unknown, and one that is closed. */
export const inNoAccount =
  (json: object): Asking =>
  () => ({ json: { ...json, accountId: NO_ACCOUNT } });
export const inClosedAccount =
  (json: object): Asking =>
  ({ closedAccountId }) => ({ json: { ...json, accountId: closedAccountId } });

export const accountOperations: Readonly<Record<string, OperationAsks>> = {
  listAccounts: {
    success: [200, () => ({ query: { limit: '1' } })],
    misfits: [[400, 'invalid_query', () => ({ query: { limit: '0' } })]],
  },
  createAccount: {
    success: [201, ({ unique }) => ({ json: { name: `Customer ${unique}` } })],
    misfits: [[400, 'invalid_body', () => ({ json: { name: '' } })]],
  },
  getAccount: {
    success: [200, ofAccount],
    refusals: [[404, 'account_not_found', toNoAccount()]],
  },
  getAccountUsage: {
    success: [200, ofAccount],
    refusals: [
      [
        403,
        'key_restricted',
        ({ accountId, restrictedKey }) => ({
          headers: { authorization: `Bearer ${restrictedKey}` },
          params: { accountId },
        }),
      ],
      [404, 'account_not_found', toNoAccount()],
    ],
  },
  updateAccount: {
    success: [200, ({ accountId }) => ({ params: { accountId }, json: { name: 'Example Inc.' } })],
    refusals: [[404, 'account_not_found', toNoAccount({ name: 'Example Inc.' })]],
  },
  closeAccount: {
    success: [204, ({ accountIdToClose }) => ({ params: { accountId: accountIdToClose } })],
    refusals: [
      [404, 'account_not_found', toNoAccount()],
      [409, 'default_account', () => ({ params: { accountId: DEFAULT_ACCOUNT_ID } })],
      [409, 'account_has_projects', ofAccount],
    ],
    misfits: [
      [
        400,
        'invalid_query',
        ({ accountId }) => ({ params: { accountId }, query: { projects: 'keep' } }),
      ],
    ],
  },
};
