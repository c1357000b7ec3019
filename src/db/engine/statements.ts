/** Concurrent calls become one prepared statement (docs/measured/performance.md). */

import type { QueryConfig } from 'pg';
import type { Database } from './client.ts';
import { inTransaction } from './transaction.ts';

export type GatherOptions = {
  readonly itemsMax: number;
  readonly concurrency: number;
  /** Whether to run a failed batch that left nothing behind item by item. Default: never. */
  readonly mayBeOneItem?: (fault: unknown) => boolean;
  /** Whether to retry a failed batch that left nothing behind, once. Default: never. */
  readonly isWorthRetry?: (fault: unknown) => boolean;
};

type Waiting<Item, Result> = {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (fault: unknown) => void;
};

const never = (): boolean => false;

/**
 * While one batch runs, the next calls collect: batches grow with the load and a lone call does not
 * wait. Inside a transaction, a call runs alone. `run` returns one result per item, in order.
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
    // After this event loop turn's I/O, so that calls that arrived together share a batch.
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
        resolve(results[index] as Result); // `run` returns one result per item
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

/** An answer comes from a run that started after its call, so a read after a write sees it. */
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
    return names.map((name) => byName.get(name) as Answer); // `run` returns one per item
  }, options);
}

/** Each connection prepares it once; it bypasses Prisma. */
export type Statement = {
  /** Identifies the text: a changed text needs a new name. */
  readonly name: string;
  readonly text: string;
};

/** Each column is text or null. Rejects if the connection is lost or times out. */
export type RunStatement = <Row extends Readonly<Record<string, string | null>>>(
  statement: Statement,
  values: readonly unknown[],
) => Promise<readonly Row[]>;

/** Longer than the server's statement timeout, so the server's own error usually comes first. */
const SILENCE_MS = 12_000;

/** `silenceMs`: the response timeout outside of a transaction; the connection is closed. */
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
      query_timeout: silenceMs, // pg/lib/client.js supports it here; its types don't
    };
    return (await pool.query<Row>(query)).rows;
  };
}
