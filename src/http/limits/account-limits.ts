/** Adds to an account, unless one of its limits is reached. */
import type { Access } from '../../core/access.ts';
import { type CountedLimit, limitsOf } from '../../core/operations/account-limits.ts';
import type { Account } from '../../core/records.ts';
import { findReached, type ReachedLimit } from '../../db/account-usage.ts';
import { transact } from '../../db/engine/transaction.ts';
import type { Service } from '../../service/service.ts';
import { type ApiResponse, type Refusal, refuse } from '../pipeline/errors.ts';

/** In one transaction with `add`, so that concurrent requests cannot exceed a limit. */
export async function withinLimits(
  { config, database, now }: Service,
  access: Access,
  account: Account,
  names: readonly CountedLimit[],
  add: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const all = limitsOf(account, config.api.accountLimits);
  const limits = names.flatMap((name) => {
    const limit = all[name];
    return limit === null ? [] : [[name, limit] as const];
  });
  if (limits.length === 0) return add();
  return transact(database.prisma, async () => {
    const reached = await findReached(database.prisma, access, account.id, limits, now());
    return reached === null ? add() : refuseReached(reached, now());
  });
}

const words: Readonly<Record<CountedLimit, string>> = {
  domains: 'domains',
  domainsPerHour: 'new domains an hour',
  projects: 'projects',
  keys: 'active keys',
  webhooks: 'webhooks',
};

function refuseReached({ name, limit, retryAt }: ReachedLimit, now: Date): Refusal {
  const said = `The account's limit is ${limit} ${words[name]} (\`${name}\`).`;
  const about = { limit: { name, value: limit } };
  if (retryAt === null) {
    const message = `${said} Remove one, or ask the platform for more.`;
    return withLimit(refuse('limit_reached', message), about);
  }
  const seconds = Math.max(1, Math.ceil((retryAt.getTime() - now.getTime()) / 1_000));
  const message = `${said} Try again in ${seconds} seconds.`;
  return withLimit(refuse('too_many_domains', message, { 'retry-after': String(seconds) }), about);
}

function withLimit(refusal: Refusal, about: Pick<Refusal['body'], 'limit'>): Refusal {
  return { ...refusal, body: { ...refusal.body, ...about } };
}

/** For limits that each process counts. */
export function refuseBusy(
  code: 'too_many_at_once' | 'too_many_streams',
  name: 'diagnoses' | 'streams',
  limit: number,
  retryAfterSeconds: string,
): Refusal {
  const what = name === 'streams' ? 'open streams' : 'diagnoses at once';
  const message = `The account's limit is ${limit} ${what} per process (\`${name}\`). Try again later.`;
  const refusal = refuse(code, message, { 'retry-after': retryAfterSeconds });
  return withLimit(refusal, { limit: { name, value: limit } });
}
