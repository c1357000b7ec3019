/**
 * Statements that are asked many times a second: single calls that arrive together become one, and each is prepared once a
 * connection (docs/performance.md says what both save).
 */

import type { QueryConfig } from 'pg';
import type { Database } from './client.ts';
import { inTransaction } from './transaction.ts';

/** How many calls travel together, and what becomes of a batch that fails. */
export type GatherOptions = {
  /** Largest batch. */
  readonly itemsMax: number;
  /** Batches under way at the same time. */
  readonly concurrency: number;
  /**
   * Whether one item alone may be the reason why a batch failed and left nothing behind. Then each is run by
   * itself, so that only its own call fails. Missing: never.
   */
  readonly mayBeOneItem?: (fault: unknown) => boolean;
  /** Whether a batch that failed so, and left nothing behind, is run once more before it counts. Missing: never. */
  readonly isWorthRetry?: (fault: unknown) => boolean;
};

type Waiting<Item, Result> = {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (fault: unknown) => void;
};

const never = (): boolean => false;

/**
 * Returns the single call. While one batch is under way the next calls collect, so a batch is as large as the load asks for
 * and a lone call waits for nothing; inside a transaction a call runs alone, in it. `run` answers with one result per item, in their order; where it rejects, every call of the batch
 * does, unless the options say otherwise.
 */
export function gather<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  { itemsMax, concurrency, mayBeOneItem = never, isWorthRetry = never }: GatherOptions,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let underWay = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || underWay >= concurrency || waiting.length === 0) return;
    scheduled = true;
    // After the I/O of this turn of the event loop: what arrived together travels together.
    setImmediate(() => {
      scheduled = false;
      const batch = waiting.slice(0, itemsMax);
      waiting = waiting.slice(itemsMax);
      underWay += 1;
      void settle(batch).finally(() => {
        underWay -= 1;
        schedule();
      });
      schedule();
    });
  }

  async function settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await runTwice(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result); // `run` promises one result per item
      });
    } catch (fault) {
      if (batch.length > 1 && mayBeOneItem(fault)) await settleEach(batch);
      else for (const { reject } of batch) reject(fault);
    }
  }

  async function runTwice(items: readonly Item[]): Promise<readonly Result[]> {
    try {
      return await run(items);
    } catch (fault) {
      if (!isWorthRetry(fault)) throw fault;
      return run(items);
    }
  }

  async function settleEach(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    for (const one of batch) await settle([one]);
  }

  return (item) =>
    inTransaction()
      ? run([item]).then(([result]) => result as Result) // as above
      : new Promise((resolve, reject) => {
          waiting.push({ item, resolve, reject });
          schedule();
        });
}

/**
 * As `gather`, with one run for questions of the same name. An answer comes from a run that began after its
 * question arrived, so a read after a write sees it.
 */
export function shareReads<Question, Answer>(
  run: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  nameOf: (question: Question) => string,
  options: GatherOptions,
): (question: Question) => Promise<Answer> {
  return gather(async (questions: readonly Question[]) => {
    const asked = new Map<string, Question>();
    const names = questions.map((question) => {
      const name = nameOf(question);
      asked.set(name, question);
      return name;
    });
    const answers = await run([...asked.values()]);
    const byName = new Map([...asked.keys()].map((name, place) => [name, answers[place]]));
    return names.map((name) => byName.get(name) as Answer); // `run` promises one for each
  }, options);
}

/** A statement that each connection prepares once; it is sent without Prisma between. */
export type Statement = {
  /** Names the text for good: another text needs another name. */
  readonly name: string;
  readonly text: string;
};

/** Runs a statement; `Row` has its columns, each a text or null. Rejects where the connection is lost or falls silent. */
export type RunStatement = <Row extends Readonly<Record<string, string | null>>>(
  statement: Statement,
  values: readonly unknown[],
) => Promise<readonly Row[]>;

/** Longer than the server lets a statement run (src/db/engine/client.ts), so that where it can, it says why. */
const SILENCE_MS = 12_000;

/** `silenceMs`: how long an answer may take outside of a transaction, 12 s unless given. A slower connection is given up. */
export function createRunStatement(
  { prisma, pool }: Pick<Database, 'prisma' | 'pool'>,
  silenceMs: number = SILENCE_MS,
): RunStatement {
  return async <Row extends Readonly<Record<string, string | null>>>(
    { name, text }: Statement,
    values: readonly unknown[],
  ) => {
    if (inTransaction()) return prisma.$queryRawUnsafe<Row[]>(text, ...values);
    const query: QueryConfig & { readonly query_timeout: number } = {
      name,
      text,
      values: [...values],
      query_timeout: silenceMs, // pg/lib/client.js reads it here, too; its types do not know
    };
    return (await pool.query<Row>(query)).rows;
  };
}
