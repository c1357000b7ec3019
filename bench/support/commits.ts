/** PostgreSQL's own record of when something was committed, by the clock that the bench reads, too. */
import pg from 'pg';
import type { PostgresServer } from '../../test/support/servers.ts';

/** Restarts the server; from then on `pg_xact_commit_timestamp(xmin)` says when a row's last writer committed. */
export async function rememberCommits(postgres: PostgresServer): Promise<void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query('ALTER SYSTEM SET track_commit_timestamp = on');
  await client.end();
  await postgres.stop();
  await postgres.restart();
}
