/** Errors that mean that the storage is temporarily unreachable or full. */

import pg from 'pg';
import type { Database } from './client.ts';

/** Codes of Prisma (P…), PostgreSQL (5 characters), the system (E…) and adapter-pg (kinds). */
const unavailableCodes: ReadonlySet<string> = new Set([
  'P1001', // unreachable
  'P1002', // reached, but timed out
  'P1008', // an operation timed out
  'P1017', // closed the connection
  'P2024', // no connection became free in time
  'P2028', // a transaction could not start in time
  'P2037', // too many connections
  '08000', // connection exceptions
  '08003',
  '08006',
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '57014', // canceled: statement timeout
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

/** node-postgres (8.23) gives these errors no code. test/http/unavailable.test.ts provokes them. */
const unavailableMessages: ReadonlySet<string> = new Set([
  'timeout exceeded when trying to connect', // the pool has no free connection
  'Connection terminated due to connection timeout',
  'Connection terminated unexpectedly',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
]);

const causeNames = ['cause', 'errors', 'meta', 'driverAdapterError'] as const;
const MAX_CAUSES = 6;

/** Also checks causes. `depth`: internal. */
export function isUnavailable(fault: unknown, depth = 0): boolean {
  if (typeof fault !== 'object' || fault === null || depth > MAX_CAUSES) return false;
  const field = (name: string): unknown => Reflect.get(fault, name);
  const codes = [field('code'), field('originalCode'), field('kind')];
  if (codes.some((code) => typeof code === 'string' && unavailableCodes.has(code))) return true;
  if (fault instanceof Error && unavailableMessages.has(fault.message)) return true;
  const causes = Array.isArray(fault) ? fault : causeNames.map(field);
  return causes.some((cause) => isUnavailable(cause, depth + 1));
}

/** The server's statement timeout; a response can take two seconds more. */
const ANSWER_MS = 1_000;

/** PostgreSQL, appendix A: shutting down, crashed, starting up. */
const stopCodes: ReadonlySet<string | undefined> = new Set(['57P01', '57P02', '57P03']);

/** Any response counts as reachable, even an error about time. Never rejects. */
export function createAwayProbe(database: Pick<Database, 'openPool'>): () => Promise<boolean> {
  const pool = database.openPool({ max: 1, statementTimeoutMs: ANSWER_MS });
  return () =>
    pool.query('SELECT 1').then(
      () => false,
      (fault: unknown) => !(fault instanceof pg.DatabaseError) || stopCodes.has(fault.code),
    );
}

/** Deadlocks and serialization conflicts, worth a retry (PostgreSQL, appendix A). */
export function isLostRace(fault: unknown): boolean {
  const code: unknown = typeof fault === 'object' && fault !== null && Reflect.get(fault, 'code');
  return code === '40P01' || code === '40001';
}

/** The statement was undone; its other rows can be fine. A constraint can refuse valid values. */
export function isRowRefused(fault: unknown): boolean {
  const code: unknown = typeof fault === 'object' && fault !== null && Reflect.get(fault, 'code');
  return typeof code === 'string' && /^(22|23)...$/.test(code); // data exception, integrity constraint violation
}
