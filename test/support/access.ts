/** Whose the rows of tests are: ids as stores give them that have checked an access, where nobody asks. */

import { randomUUID } from 'node:crypto';
import {
  DEFAULT_ACCOUNT_ID,
  type GrantedAccountId,
  type GrantedDomainId,
  type GrantedProjectId,
} from '../../src/core/accounts/access.ts';
import { type AccountLimits, limitNames } from '../../src/core/accounts/limits.ts';
import { createWithinLimits, type WithinLimits } from '../../src/db/account-limits.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { createProjectStore, type GrantedProject } from '../../src/db/projects.ts';

export const granted = {
  account: (id: string) => id as GrantedAccountId,
  project: (id: string) => id as GrantedProjectId,
  domain: (id: string) => id as GrantedDomainId,
} as const;

/** No account has less than it likes. */
export const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as AccountLimits;

/** For routes whose accounts have no limits unless the account's row says so. */
export function withinOwnLimits(prisma: PrismaClient): WithinLimits {
  return createWithinLimits(prisma, noLimits);
}

/** What routes are made with that are described rather than run. */
export const nothingCounted = { streamsOf: () => 0, requestsOf: () => null } as const;

/** The account that every database has from the start. */
export const defaultAccount = granted.account(DEFAULT_ACCOUNT_ID);

/** A project on a paid plan, of the default account unless another is given. Rejects where the account has the slug. */
export async function aStoredProject(
  prisma: PrismaClient,
  { slug = `p-${randomUUID()}`, accountId = defaultAccount } = {},
): Promise<GrantedProject> {
  const project = await createProjectStore(prisma).create(accountId, {
    name: 'P',
    slug,
    plan: 'pro',
  });
  if (project === null) throw new Error('the slug is taken');
  return project;
}
