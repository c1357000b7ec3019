import { type DomainStatus, heldStatuses, servedStatuses } from '../../core/life/lifecycle.ts';
import { Prisma } from '../generated/client.ts';

/** For `IN (…)`. As text instead of a parameter, so that partial indexes match. */
export function statusList(statuses: readonly DomainStatus[]): string {
  return statuses.map((status) => `'${status}'`).join(', ');
}

export const servedInSql = Prisma.raw(statusList(servedStatuses));
export const heldInSql = Prisma.raw(statusList(heldStatuses));
