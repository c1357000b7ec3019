/** What an account has of what its limits count. */
import { type AccountLimits, limitsOf } from '../../core/accounts/limits.ts';
import type { StoredLimit } from '../../db/account-limits.ts';
import type { AccountStore } from '../../db/accounts.ts';
import type { AccountRateLimiter } from '../limits/rate-limit.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { accountUsage, docsUsage } from '../schemas/accounts.ts';
import { findAccount } from './accounts.ts';

/** Where the counts come from. */
export type AccountUsageDeps = {
  readonly accounts: Pick<AccountStore, 'find'>;
  /** What holds for an account without limits of its own. */
  readonly limits: AccountLimits;
  /** What the database counts. */
  counts(accountId: string, at: Date): Promise<Readonly<Record<StoredLimit, number>>>;
  /** When an account that may add `most` domains an hour may add the next one; null: now. */
  nextAddition(accountId: string, most: number, at: Date): Promise<Date | null>;
  /** Of this process. */
  readonly streamsOf: (accountId: string) => number;
  /** Of this process. */
  readonly diagnosesOf: (accountId: string) => number;
  readonly requestsOf: AccountRateLimiter['used'];
  readonly now: () => Date;
};

/** `GET /v1/accounts/{accountId}/usage`. */
export function accountUsageRoutes(deps: AccountUsageDeps): readonly Route[] {
  return [
    route({
      tag: 'Accounts',
      scope: 'admin',
      stability: 'beta',
      method: 'GET',
      path: '/v1/accounts/:accountId/usage',
      operationId: 'getAccountUsage',
      summary: 'Show what an account uses',
      description:
        'For each limit how much of it is used. Streams and diagnoses are those of the process that answers, as their limits are.',
      momentary: true,
      success: {
        status: 200,
        description: 'What is used at this moment',
        schema: accountUsage,
        example: docsUsage,
      },
      refusals: ['account_not_found'],
      handle: async ({ key, params }) => {
        const found = await findAccount(deps.accounts, key.access, params.accountId);
        if (found === null) return refuse('account_not_found');
        const body = await usageOf(deps, found.id, limitsOf(found.limits, deps.limits));
        return { status: 200, body, headers: { 'cache-control': 'no-store' } };
      },
    }),
  ];
}

/** The AccountUsage of docs/api.md. Requests of an account that makes as many as it likes are not counted. */
async function usageOf(deps: AccountUsageDeps, id: string, limits: AccountLimits) {
  const at = deps.now();
  const used = await deps.counts(id, at);
  const most = limits.additionsPerHour;
  const isFull = most !== null && used.additionsPerHour >= most;
  const requests = limits.requestsPerMinute === null ? null : deps.requestsOf(id);
  return {
    domains: { used: used.domains, limit: limits.domains },
    additionsPerHour: {
      used: used.additionsPerHour,
      limit: most,
      nextAt: isFull ? await deps.nextAddition(id, most, at) : null,
    },
    projects: { used: used.projects, limit: limits.projects },
    keys: { used: used.keys, limit: limits.keys },
    webhooks: { used: used.webhooks, limit: limits.webhooks },
    streams: { used: deps.streamsOf(id), limit: limits.streams },
    diagnoses: { used: deps.diagnosesOf(id), limit: limits.diagnoses },
    requestsPerMinute: {
      used: limits.requestsPerMinute === null ? null : (requests?.used ?? 0),
      limit: limits.requestsPerMinute,
      resetAt: requests?.endsAt ?? null,
    },
  };
}
