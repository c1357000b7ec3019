import { wholeInstallation } from '../core/access.ts';
import {
  type AuthorityLimit,
  authorityLimits,
  bucketOf,
  isShare,
  limitInWords,
  partsOfKey,
  tokensLeft,
} from '../core/certificates/budget.ts';
import { type QueueName, queueNames } from '../core/operations/jobs.ts';
import type { Database } from '../db/engine/client.ts';
import { readInstallation } from '../db/installation.ts';
import { type BucketRow, readEmptiest } from '../db/issuance/authority-budget.ts';
import { readOperations } from '../db/operations.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';
import { directoriesOf } from './authorities.ts';
import { loadFleet } from './fleet.ts';
import type { Service } from './service.ts';

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

type OverviewParts = Pick<
  Service,
  'authorities' | 'backend' | 'config' | 'database' | 'now' | 'queues'
>;

const FRESH_MS = 5_000;

/** Reads nothing before the first call. */
export function createOverview(service: OverviewParts) {
  let last: { readonly at: number; readonly reading: Promise<Overview> } | null = null;
  return {
    /** At most FRESH_MS old. Rejects if the database is down; failures are not cached. */
    read(): Promise<Overview> {
      const at = service.now().getTime();
      if (last === null || at < last.at || at - last.at >= FRESH_MS) {
        const started = { at, reading: readAll(service) };
        last = started;
        started.reading.catch(() => {
          if (last === started) last = null;
        });
      }
      return last.reading;
    },
    /** Something changed: the next call reads again. */
    forget(): void {
      last = null;
    },
  };
}

export type InstallationOverview = ReturnType<typeof createOverview>;

async function readAll(service: OverviewParts) {
  const { authorities, backend, database, now, queues } = service;
  const { prisma } = database;
  const at = now();
  const state = await readInstallation(prisma, directoriesOf(authorities));
  const reads = await readOperations(prisma, wholeInstallation, at);
  const fleet = await loadFleet(service);
  return {
    at,
    state,
    ...reads,
    fleet,
    queueMemory: await backend.readMemory().catch(() => null),
    queues: await countAll(queues),
    budget: await loadBudget(prisma, now()),
  };
}

export type Overview = Readonly<Awaited<ReturnType<typeof readAll>>>;

/** Null if the queue does not answer. */
async function countAll(
  queues: Pick<Queues, 'counts'>,
): Promise<{ readonly [N in QueueName]: QueueCounts } | null> {
  try {
    const counted = await Promise.all(
      queueNames.map(async (name) => [name, await queues.counts(name)] as const),
    );
    return Object.fromEntries(counted) as Record<QueueName, QueueCounts>; // one entry per name
  } catch {
    return null; // the queue is unavailable; the state in the database counts
  }
}

/** Per limit and in total. */
const READ_MAX = 5;
const SHOWN_MAX = 10;

const allLimits = Object.keys(authorityLimits) as readonly AuthorityLimit[]; // only its own keys
/** An owner may use up its share: it matters only while others wait. */
const limits = allLimits.filter((limit) => !isShare(limit));

/** The limits closest to exhaustion first. Full buckets are not stored or are skipped. */
export async function loadBudget(
  prisma: Database['prisma'],
  at: Date,
): Promise<readonly BudgetLeft[]> {
  const rows = await Promise.all(limits.map((limit) => readEmptiest(prisma, limit, at, READ_MAX)));
  return rows
    .flat()
    .flatMap((row) => budgetLeft(row, at))
    .sort((one, other) => one.left / one.of - other.left / other.of)
    .slice(0, SHOWN_MAX);
}

function budgetLeft({ key, fullAt }: BucketRow, now: Date): readonly BudgetLeft[] {
  const bucket = bucketOf(key);
  if (bucket === null) return [];
  const { authority, subject } = partsOfKey(bucket);
  const of = authorityLimits[bucket.limit].tokens;
  const left = tokensLeft(bucket.limit, fullAt, now);
  return [{ authority, limit: limitInWords({ limit: bucket.limit, subject }), left, of, fullAt }];
}
