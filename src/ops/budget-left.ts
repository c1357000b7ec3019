/** What is left of the certificate authorities' limits, for the operator's first page. */
import {
  type AuthorityLimit,
  authorityLimits,
  bucketOf,
  partsOfKey,
  tokensLeft,
} from '../core/authority-budget.ts';
import { limitInWords } from '../core/budget-words.ts';
import type { PrismaClient } from '../db/generated/client.ts';
import type { BudgetLeft, ReadBudget } from './overview.ts';

/** Of each limit, and of all of them together. */
const READ_MAX = 5;
const SHOWN_MAX = 10;

const limits = Object.keys(authorityLimits) as readonly AuthorityLimit[]; // its own keys

/** Those of which least is left first; a bucket that is full is not stored, or counts as nothing. */
export function createReadBudget(prisma: PrismaClient, now: () => Date): ReadBudget {
  return async () => {
    const at = now();
    const rows = await Promise.all(limits.map((limit) => emptiest(prisma, limit, at)));
    return rows
      .flat()
      .flatMap((row) => budgetLeft(row, at))
      .sort((one, other) => one.left / one.of - other.left / other.of)
      .slice(0, SHOWN_MAX);
  };
}

type Row = { readonly key: string; readonly fullAt: Date };

function emptiest(prisma: PrismaClient, limit: AuthorityLimit, now: Date): Promise<Row[]> {
  return prisma.authorityBudget.findMany({
    where: { key: { startsWith: `${limit} ` }, fullAt: { gt: now } },
    orderBy: { fullAt: 'desc' },
    take: READ_MAX,
  });
}

function budgetLeft({ key, fullAt }: Row, now: Date): readonly BudgetLeft[] {
  const bucket = bucketOf(key);
  if (bucket === null) return [];
  const { authority, subject } = partsOfKey(bucket);
  const of = authorityLimits[bucket.limit].tokens;
  const left = tokensLeft(bucket.limit, fullAt, now);
  return [{ authority, limit: limitInWords({ limit: bucket.limit, subject }), left, of, fullAt }];
}
