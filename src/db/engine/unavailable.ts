/** Which faults mean that the storage cannot be reached, or has no room, just now. */

import pg from 'pg';
import type { Database } from './client.ts';

/** Codes of Prisma (P…), PostgreSQL (five characters), the operating system (E…) and adapter-pg (kinds). */
const unavailableCodes: ReadonlySet<string> = new Set([
  'P1001', // cannot be reached
  'P1002', // reached, but timed out
  'P1008', // an operation timed out
  'P1017', // closed the connection
  'P2024', // no connection became free in time
  'P2028', // a transaction could not be started in time
  'P2037', // too many connections
  '08000', // connection exceptions
  '08003',
  '08006',
  '53100', // no room on its disk
  '53200', // out of memory
  '53300', // too many connections
  '57014', // cancelled: the statement's time-out
  '57P01', // shut down by an administrator
  '57P02', // crashed
  '57P03', // starting up or shutting down
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
]);

/**
 * node-postgres (8.23) gives these faults no code, so its words are the only sign there is. The version is
 * pinned, and test/http/unavailable.test.ts provokes them.
 */
const unavailableMessages: ReadonlySet<string> = new Set([
  'timeout exceeded when trying to connect', // the pool has no free connection
  'Connection terminated due to connection timeout',
  'Connection terminated unexpectedly',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
]);

/** Where Prisma, node-postgres and node:net keep the fault behind a fault. */
const causeNames = ['cause', 'errors', 'meta', 'driverAdapterError'] as const;
const MAX_CAUSES = 6;

/** Whether a fault, or one that caused it, says that the storage cannot be reached just now. */
export function isUnavailable(fault: unknown): boolean {
  return isCausedBy(fault, unavailableCodes, unavailableMessages);
}

/** PostgreSQL, appendix A: the table is not there, or this role was given no right on it (yet). */
const notThere: ReadonlySet<string> = new Set(['42P01', '42501']);

/** Whether a statement failed for want of a table, or of a right on it. */
export function isNotThere(fault: unknown): boolean {
  return isCausedBy(fault, notThere, new Set());
}

function isCausedBy(
  fault: unknown,
  codes: ReadonlySet<string>,
  messages: ReadonlySet<string>,
  depth = 0,
): boolean {
  if (typeof fault !== 'object' || fault === null || depth > MAX_CAUSES) return false;
  const field = (name: string): unknown => Reflect.get(fault, name);
  const found = [field('code'), field('originalCode'), field('kind')];
  if (found.some((code) => typeof code === 'string' && codes.has(code))) return true;
  if (fault instanceof Error && messages.has(fault.message)) return true;
  const causes = Array.isArray(fault) ? fault : causeNames.map(field);
  return causes.some((cause) => isCausedBy(cause, codes, messages, depth + 1));
}

/** How long the server may run the probe; its answer may take two seconds more (src/db/engine/client.ts). */
const ANSWER_MS = 1_000;

/** What a server says that serves nobody (PostgreSQL, appendix A): shutting down, crashed, starting up. */
const servesNobody: ReadonlySet<string | undefined> = new Set(['57P01', '57P02', '57P03']);

/**
 * Returns a function that says whether the database cannot be reached, by a query on a connection that nothing else uses. A
 * server that answers, even that it has no time or no connection left, counts as reached. Never rejects.
 */
export function createAwayProbe(database: Pick<Database, 'openPool'>): () => Promise<boolean> {
  const pool = database.openPool({ max: 1, statementTimeoutMs: ANSWER_MS });
  return () =>
    pool.query('SELECT 1').then(
      () => false,
      (fault: unknown) => !(fault instanceof pg.DatabaseError) || servesNobody.has(fault.code),
    );
}

/** Whether trying again may succeed: a deadlock, or a conflict of serializable transactions. PostgreSQL, appendix A. */
export function isLostRace(fault: unknown): boolean {
  const code: unknown = typeof fault === 'object' && fault !== null && Reflect.get(fault, 'code');
  return code === '40P01' || code === '40001';
}

/**
 * Whether the database refused a row: the statement was undone, and its other rows may be fine. What passed validation fits
 * every column, but not every database: one whose encoding is not UTF-8 refuses a character, and an operator may have added
 * a constraint. Classes of PostgreSQL, appendix A.
 */
export function isRowRefused(fault: unknown): boolean {
  const code: unknown = typeof fault === 'object' && fault !== null && Reflect.get(fault, 'code');
  return typeof code === 'string' && /^(22|23)...$/.test(code); // data exception, integrity constraint violation
}
