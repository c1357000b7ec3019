/**
 * That our connections have the time zone that they ask for (src/db/client.ts). A pooler may drop what it asks with: then
 * times without an offset, as adapter-pg sends them, would be stored as the server's local time, and nothing would tell.
 */
import type pg from 'pg';

/** Throws, with what to do, where a connection's zone is not UTC all year round. */
export async function requireUtc(pool: Pick<pg.Pool, 'query'>): Promise<void> {
  const { rows } = await pool.query<{ zone: string; isUtc: boolean }>(
    `SELECT current_setting('TimeZone') AS zone,
       extract(timezone FROM timestamptz '2026-01-01 00:00Z') = 0
         AND extract(timezone FROM timestamptz '2026-07-01 00:00Z') = 0 AS "isUtc"`,
  );
  const [session] = rows;
  if (session?.isUtc === true) return;
  throw new Error(
    `connections to the database have the time zone ${session?.zone}: a pooler drops the one that they ask for. ` +
      "Run ALTER ROLE … SET timezone = 'UTC' for the role of DATABASE_URL, and start the pooler anew.",
  );
}
