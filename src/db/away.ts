/** Whether the database is away, or only slow: what an edge may show of old memories depends on it (docs/decisions/0017). */
import pg from 'pg';
import type { Database } from './client.ts';

/** So the server may run it; the network has two seconds more (src/db/client.ts). */
const ANSWER_MS = 1_000;

/** What a server says that serves nobody (PostgreSQL, appendix A): shutting down, crashed, starting up. */
const servesNobody: ReadonlySet<string | undefined> = new Set(['57P01', '57P02', '57P03']);

/**
 * Whether no connection to the database can be had, asked over one that nobody else uses. A server that answers, be it
 * that it has no time or no connection left, is not away. Never rejects.
 */
export function createAwayProbe(database: Pick<Database, 'openPool'>): () => Promise<boolean> {
  const pool = database.openPool({ max: 1, statementTimeoutMs: ANSWER_MS });
  return () =>
    pool.query('SELECT 1').then(
      () => false,
      (fault: unknown) => !(fault instanceof pg.DatabaseError) || servesNobody.has(fault.code),
    );
}
