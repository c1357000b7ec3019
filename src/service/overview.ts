import {
  type AuthorityLimit,
  authorityLimits,
  bucketOf,
  limitInWords,
  partsOfKey,
  tokensLeft,
} from '../core/certificates/budget.ts';
import type { FleetCounts, SeenProcess } from '../core/operations/fleet.ts';
import { type QueueName, queueNames } from '../core/operations/jobs.ts';
import type { InstallationState } from '../db/installation.ts';
import type { BucketRow } from '../db/issuance/authority-budget.ts';
import type { OperationsReads } from '../db/operations.ts';
import type { QueueMemory } from '../queue/backend.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';

type BudgetLeft = {
  readonly authority: string;
  /** Readable, such as `new orders for one registrable domain`. */
  readonly limit: string;
  /** Tokens, out of `of`. */
  readonly left: number;
  readonly of: number;
  /** When the full limit is available again. */
  readonly fullAt: Date;
};

/** The limits closest to exhaustion first, at most SHOWN_MAX. */
export type ReadBudget = () => Promise<readonly BudgetLeft[]>;

export type SeenFleet = {
  /** Newest first. */
  readonly processes: readonly SeenProcess[];
  readonly counts: FleetCounts;
};

export type Overview = OperationsReads & {
  readonly at: Date;
  readonly state: InstallationState;
  /** Null if the queue does not answer. */
  readonly queues: { readonly [N in QueueName]: QueueCounts } | null;
  readonly queueMemory: QueueMemory | null;
  readonly fleet: SeenFleet;
  /** Null if no budget is counted. */
  readonly budget: readonly BudgetLeft[] | null;
};

export type OverviewDeps = {
  readInstallation(): Promise<InstallationState>;
  readOperations(now: Date): Promise<OperationsReads>;
  readFleet(): Promise<SeenFleet>;
  readQueueMemory(): Promise<QueueMemory | null>;
  readonly queues: Pick<Queues, 'counts'>;
  readonly budget?: ReadBudget | undefined;
  now(): Date;
};

export type ReadOverview = {
  /** At most FRESH_MS old. Rejects if the database is down; failures are not cached. */
  read(): Promise<Overview>;
  /** Something changed: the next call reads again. */
  forget(): void;
};

const FRESH_MS = 5_000;

/** Reads nothing before the first call. */
export function createReadOverview(deps: OverviewDeps): ReadOverview {
  let last: { readonly at: number; readonly reading: Promise<Overview> } | null = null;
  return {
    read() {
      const at = deps.now().getTime();
      if (last === null || at < last.at || at - last.at >= FRESH_MS) {
        const started = { at, reading: readAll(deps) };
        last = started;
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
  const fleet = await deps.readFleet();
  return {
    at,
    state,
    ...reads,
    fleet,
    queueMemory: await deps.readQueueMemory().catch(() => null),
    queues: await countAll(queues),
    budget: budget === undefined ? null : await budget(),
  };
}

async function countAll(queues: Pick<Queues, 'counts'>): Promise<Overview['queues']> {
  try {
    const counted = await Promise.all(
      queueNames.map(async (name) => [name, await queues.counts(name)] as const),
    );
    return Object.fromEntries(counted) as Overview['queues']; // one entry per name
  } catch {
    return null; // the queue is unavailable; the state in the database counts
  }
}

/** Per limit and in total. */
const READ_MAX = 5;
const SHOWN_MAX = 10;

const limits = Object.keys(authorityLimits) as readonly AuthorityLimit[]; // only its own keys

/** The limits closest to exhaustion. Full buckets are not stored or are skipped. */
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
