/** What the operator's first page rests on, read at most every few seconds however many operators watch it. */

import {
  type AuthorityLimit,
  authorityLimits,
  bucketOf,
  limitInWords,
  partsOfKey,
  tokensLeft,
} from '../core/certificates/budget.ts';
import { type QueueName, queueNames } from '../core/operations/jobs.ts';
import type { InstallationState } from '../db/installation.ts';
import type { BucketRow } from '../db/issuance/authority-budget.ts';
import type { OperationsReads } from '../db/operations.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';

/** How much of one of the certificate authority's limits is left. */
export type BudgetLeft = {
  readonly authority: string;
  /** In words, e.g. `new orders for one registrable domain`. */
  readonly limit: string;
  /** Tokens, out of `of`. */
  readonly left: number;
  readonly of: number;
  /** When all of it is there again. */
  readonly fullAt: Date;
};

/** Resolves with the limits of which least is left, in that order; ten at most. */
export type ReadBudget = () => Promise<readonly BudgetLeft[]>;

/** What the operator's first page shows, as it was at `at`. */
export type Overview = OperationsReads & {
  readonly at: Date;
  readonly state: InstallationState;
  /** Null where the queue does not answer. */
  readonly queues: { readonly [N in QueueName]: QueueCounts } | null;
  /** Null where no budget is kept. */
  readonly budget: readonly BudgetLeft[] | null;
};

/** What an overview is read from. */
export type OverviewDeps = {
  readInstallation(): Promise<InstallationState>;
  readOperations(now: Date): Promise<OperationsReads>;
  readonly queues: Pick<Queues, 'counts'>;
  readonly budget?: ReadBudget | undefined;
  now(): Date;
};

/** Reads overviews for all operators of a process. */
export type ReadOverview = {
  /**
   * Resolves with an overview that is at most 5 s old; calls at the same time share one. Rejects where the database is
   * away, and remembers no failure.
   */
  read(): Promise<Overview>;
  /** Something was changed: the next reader gets a new overview. */
  forget(): void;
};

const FRESH_MS = 5_000;

/** Returns a reader that reads nothing before its first call. */
export function createReadOverview(deps: OverviewDeps): ReadOverview {
  let last: { readonly at: number; readonly reading: Promise<Overview> } | null = null;
  return {
    read() {
      const at = deps.now().getTime();
      if (last === null || at < last.at || at - last.at >= FRESH_MS) {
        const started = { at, reading: readAll(deps) };
        last = started;
        // What failed is not remembered.
        started.reading.catch(() => {
          if (last === started) last = null;
        });
      }
      return last.reading;
    },
    forget() {
      last = null;
    },
  };
}

async function readAll(deps: OverviewDeps): Promise<Overview> {
  const { queues, budget } = deps;
  const at = deps.now();
  const state = await deps.readInstallation();
  const reads = await deps.readOperations(at);
  return {
    at,
    state,
    ...reads,
    queues: await countAll(queues),
    budget: budget === undefined ? null : await budget(),
  };
}

async function countAll(queues: Pick<Queues, 'counts'>): Promise<Overview['queues']> {
  try {
    const counted = await Promise.all(
      queueNames.map(async (name) => [name, await queues.counts(name)] as const),
    );
    return Object.fromEntries(counted) as Overview['queues']; // one entry for each name
  } catch {
    return null; // its server is away; the state in the database is what counts
  }
}

/** Of each limit, and of all of them together. */
const READ_MAX = 5;
const SHOWN_MAX = 10;

const limits = Object.keys(authorityLimits) as readonly AuthorityLimit[]; // its own keys

/** Reads the limits of which least is left, five of each kind. A full bucket is not stored, or counts as nothing. */
export function createReadBudget(emptiest: ReadEmptiest, now: () => Date): ReadBudget {
  return async () => {
    const at = now();
    const rows = await Promise.all(limits.map((limit) => emptiest(limit, at, READ_MAX)));
    return rows
      .flat()
      .flatMap((row) => budgetLeft(row, at))
      .sort((one, other) => one.left / one.of - other.left / other.of)
      .slice(0, SHOWN_MAX);
  };
}

/** The buckets of a limit of which least is left, as many as asked for. */
type ReadEmptiest = (
  limit: AuthorityLimit,
  now: Date,
  most: number,
) => Promise<readonly BucketRow[]>;

function budgetLeft({ key, fullAt }: BucketRow, now: Date): readonly BudgetLeft[] {
  const bucket = bucketOf(key);
  if (bucket === null) return [];
  const { authority, subject } = partsOfKey(bucket);
  const of = authorityLimits[bucket.limit].tokens;
  const left = tokensLeft(bucket.limit, fullAt, now);
  return [{ authority, limit: limitInWords({ limit: bucket.limit, subject }), left, of, fullAt }];
}
