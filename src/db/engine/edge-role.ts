/**
 * What an edge may read of the database, by a role of its own: the columns that it serves from, and nothing that it could
 * change. Whoever has broken into an edge finds no key of the API, no webhook and no account of a certificate authority.
 */
import type pg from 'pg';

/** The role by its conventional name; a role that an edge logs in with may be it, or a member of it. */
export const EDGE_ROLE = 'signpost_edge';

/** By table, the columns that an edge reads (src/db/domains/edge-lookups.ts, migrate.ts, open-vault.ts). */
export const edgeColumns: Readonly<Record<string, readonly string[]>> = {
  _prisma_migrations: ['migration_name', 'finished_at', 'rolled_back_at'],
  certificate: ['id', 'domain_id', 'status', 'expires_at', 'created_at', 'chain', 'sealed_key'],
  challenge: ['token', 'type', 'hostname', 'key_authorization', 'certificate_id'],
  deploy: ['id', 'project_id', 'status', 'upstream', 'upstream_ca', 'created_at'],
  derived_secret: ['name', 'sealed_value'],
  domain: ['id', 'project_id', 'hostname', 'status', 'removed_at'],
  hsts: ['domain_id', 'max_age', 'include_subdomains', 'preload'],
  project: ['id', 'primary_hostname', 'signing_generation', 'signing_rotated_at'],
  redirect: ['project_id', 'from_hostname', 'to_hostname', 'status'],
};

/** Rights on some of its columns are looked up in one statement, so that a start that has nothing to do writes nothing. */
const missing = `SELECT count(*)::int AS count FROM jsonb_each($2::jsonb) AS wanted ("table", columns),
  jsonb_array_elements_text(columns) AS "column"
  WHERE NOT has_column_privilege($1, "table", "column", 'SELECT')`;

/**
 * Lets the role read what an edge reads, where the database has such a role: after each migration, and for a role that was
 * made since. Takes away nothing. Rejects where we do not own the tables. To be called by one process at a time.
 */
export async function grantEdgeRole(client: Pick<pg.PoolClient, 'query'>): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [EDGE_ROLE]);
  if (rowCount === 0) return;
  const { rows } = await client.query<{ count: number }>(missing, [
    EDGE_ROLE,
    JSON.stringify(edgeColumns),
  ]);
  if (rows[0]?.count === 0) return;
  const grants = Object.entries(edgeColumns).map(
    ([table, columns]) => `GRANT SELECT (${columns.join(', ')}) ON ${table} TO ${EDGE_ROLE}`,
  );
  await client.query(grants.join('; '));
}
