/** Sites as Signpost stores them: live domains of one project with a deploy, and their certificates, encrypted by the vault. */

import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { sealOf } from '../../src/certificates/vault/keys.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { KEY_ENCRYPTION_KEY } from '../support/service.ts';
import type { Certificates, SiteCertificate } from './certificates.ts';

export const PROJECT_ID = '00000000-0000-4000-8000-00000000000a';
const AT_ONCE = 5_000;

/** Stores them. `upstream`: URL of the project's deploy. */
export async function store(
  pool: pg.Pool,
  { sites, notBefore, notAfter }: Certificates,
  upstream: string,
): Promise<void> {
  await pool.query(
    `INSERT INTO project (id, name, slug, plan, deployed_at) VALUES ($1, 'bench', 'bench', 'pro', now())`,
    [PROJECT_ID],
  );
  await pool.query(
    `INSERT INTO deploy (id, project_id, status, upstream, created_at) VALUES ($1, $2, 'succeeded', $3, now())`,
    [randomUUID(), PROJECT_ID, upstream],
  );
  for (let from = 0; from < sites.length; from += AT_ONCE) {
    await storeSome(pool, sites.slice(from, from + AT_ONCE), notBefore, notAfter);
  }
  await pool.query('VACUUM ANALYZE');
}

async function storeSome(
  pool: pg.Pool,
  sites: readonly SiteCertificate[],
  notBefore: Date,
  notAfter: Date,
): Promise<void> {
  const vault = createVault(KEY_ENCRYPTION_KEY);
  const rows = sites.map(({ hostname, chain, key }) => {
    const id = randomUUID();
    return {
      domainId: randomUUID(),
      id,
      hostname,
      chain,
      key: vault.seal(Buffer.from(key), sealOf(id)),
    };
  });
  const [domainIds, hostnames] = [rows.map((row) => row.domainId), rows.map((row) => row.hostname)];
  await pool.query(
    `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, verified_at,
       recheck_at, renew_at, certificate_ends_at)
     SELECT id, $1, hostname, 'x.edge.signpost.test', 'live', now(), now(), now(),
       now() + interval '50 minutes', $4::timestamptz - interval '30 days', $4
     FROM unnest($2::uuid[], $3::text[]) AS site (id, hostname)`,
    [PROJECT_ID, domainIds, hostnames, notAfter],
  );
  await pool.query(
    `INSERT INTO certificate (id, domain_id, hostname, status, sealed_key, chain, issuer, issued_at, expires_at, ended_at)
     SELECT id, domain_id, hostname, 'issued', sealed_key, chain, 'bench', $6, $7, $6
     FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[])
       AS stored (id, domain_id, hostname, sealed_key, chain)`,
    [
      rows.map((row) => row.id),
      domainIds,
      hostnames,
      rows.map((row) => row.key),
      rows.map((row) => row.chain),
      notBefore,
      notAfter,
    ],
  );
}
