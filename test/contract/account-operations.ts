/** What is asked about accounts: the customers of the platform. */
import type { OperationAsks } from './operations.ts';
import { type Asking, NO_ACCOUNT } from './requests.ts';

const DEFAULT_ACCOUNT = '00000000-0000-4000-8000-000000000000';

const ofAccount: Asking = ({ accountId }) => ({ params: { accountId } });
const toNoAccount = { params: { accountId: NO_ACCOUNT } };

export const accountOperations = {
  listAccounts: { success: [200, () => ({})] },
  createAccount: {
    success: [201, ({ unique }) => ({ json: { name: `Shop ${unique}`, limits: { domains: 5 } } })],
    misfits: [[400, 'invalid_body', () => ({ json: { name: 'Shop', limits: { domains: -1 } } })]],
  },
  getAccount: {
    success: [200, ofAccount],
    refusals: [[404, 'account_not_found', () => toNoAccount]],
  },
  getAccountUsage: {
    success: [200, ofAccount],
    refusals: [[404, 'account_not_found', () => toNoAccount]],
  },
  updateAccount: {
    success: [
      200,
      ({ accountId }) => ({ params: { accountId }, json: { limits: { streams: null } } }),
    ],
    refusals: [[404, 'account_not_found', () => ({ ...toNoAccount, json: { name: 'Shop' } })]],
  },
  closeAccount: {
    success: [204, ({ accountIdToClose }) => ({ params: { accountId: accountIdToClose } })],
    refusals: [
      [404, 'account_not_found', () => toNoAccount],
      [409, 'account_in_use', ofAccount],
      [409, 'default_account', () => ({ params: { accountId: DEFAULT_ACCOUNT } })],
    ],
  },
} as const satisfies Readonly<Record<string, OperationAsks>>;
