/** What the operator's first page rests on, read at most every few seconds however many look at it. */

import { type QueueName, queueNames } from '../core/jobs.ts';
import type { PrismaClient } from '../db/generated/client.ts';
import { type InstallationState, readInstallation } from '../db/installation.ts';
import { type OperationsReads, readOperations } from '../db/operations.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';

/** How much of one of the certificate authority's limits is left. */
export type BudgetLeft = {
  readonly authority: string;
  /** In words: `new orders for one registrable domain`. */
  readonly limit: string;
  readonly left: number;
  readonly of: number;
  /** When all of it is there again. */
  readonly fullAt: Date;
};

/** The limits of which least is left first; a handful. */
export type ReadBudget = () => Promise<readonly BudgetLeft[]>;

export type Overview = OperationsReads & {
  readonly at: Date;
  readonly state: InstallationState;
  /** Null: the queue does not answer. */
  readonly queues: { readonly [N in QueueName]: QueueCounts } | null;
  /** Null: nobody keeps one. */
  readonly budget: readonly BudgetLeft[] | null;
};

export type OverviewDeps = {
  readonly prisma: PrismaClient;
  readonly queues: Pick<Queues, 'counts'>;
  readonly budget?: ReadBudget | undefined;
  now(): Date;
};

export type ReadOverview = {
  read(): Promise<Overview>;
  /** Something was changed: the next look is a new one. */
  forget(): void;
};

const FRESH_MS = 5_000;

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

async function readAll({ prisma, queues, budget, now }: OverviewDeps): Promise<Overview> {
  const at = now();
  const state = await readInstallation(prisma);
  const reads = await readOperations(prisma, at);
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
