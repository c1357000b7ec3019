/**
 * Statements that are asked many times a second: prepared once a connection, and sent over the pool without
 * Prisma between (docs/performance.md says what that saves). Inside a transaction they go through its client.
 */
import type { QueryConfig } from 'pg';
import type { Database } from './client.ts';
import { inTransaction } from './transaction.ts';

/** A statement that each connection prepares once. */
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
