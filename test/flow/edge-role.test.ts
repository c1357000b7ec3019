/** An edge whose role in PostgreSQL reads what it serves: it does all that an edge does, and its password opens nothing else. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { createVault, type Vault } from '../../src/certificates/vault/vault.ts';
import { edgeColumns } from '../../src/db/engine/edge-role.ts';
import { startBeside } from '../support/beside.ts';
import { closeAfterAll } from '../support/closings.ts';
import { findProgram, lacks } from '../support/programs.ts';
import { freePort, startPostgres } from '../support/servers.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/world.ts';

const script = fileURLToPath(new URL('../../deploy/postgres/roles.sql', import.meta.url));
const closings = closeAfterAll();
const needed = ['postgres', 'psql', 'pebble'] as const;
const without = needed.some((program) => lacks(program, 'the role of edges'));
let service: Service;
let edgePort: number;
let edgeUrl: string;
let ca: string;

beforeAll(async () => {
  if (without) return;
  const postgres = await startPostgres();
  closings.push(postgres.close);
  const psql = findProgram('psql') ?? 'psql';
  const env = {
    ...process.env,
    SIGNPOST_PASSWORD: 'first',
    EDGE_PASSWORD: "sec'ond",
    OWN_SERVER: 'true',
  };
  await promisify(execFile)(psql, ['-v', 'ON_ERROR_STOP=1', '-f', script, postgres.url], { env });

  const urlFor = (user: string) =>
    Object.assign(new URL(postgres.url), { username: user, pathname: '/signpost' }).href;
  edgeUrl = urlFor('signpost_edge');
  const [http, https] = [await freePort(), await freePort()];
  edgePort = https;
  service = await startService({
    storage: { kind: 'postgres', databaseUrl: urlFor('signpost') },
    ca: 'Pebble',
    challengePort: http,
  });
  closings.push(service.close);
  const { world, client } = service;
  const edge = await startBeside({
    ...world.env,
    ROLE: 'edge',
    DATABASE_URL: edgeUrl,
    KEY_ENCRYPTION_KEY: Buffer.from(edgeVaultKey()).toString('base64'),
    EDGE_HTTP_PORT: String(http),
    EDGE_HTTPS_PORT: String(https),
  });
  closings.push(edge.stop);
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
  ca = await world.rootCertificates(service.signpost.parts.rootCertificate);
}, 180_000);

/** What `signpost edge key` prints of the installation's key. */
function edgeVaultKey(): Uint8Array {
  const whole = Buffer.from(service.world.env['KEY_ENCRYPTION_KEY'] ?? '', 'base64');
  return createVault(whole).edgeKeys[0] ?? new Uint8Array();
}

async function visit(): Promise<{ status: number | undefined; body: string }> {
  const { hostname } = service.world;
  const options = { host: '127.0.0.1', port: edgePort, servername: hostname, ca, agent: false };
  const [answer] = await once(
    request({ ...options, headers: { host: hostname } }).end(),
    'response',
  );
  return { status: answer.statusCode, body: await text(answer) };
}

const empty = new Uint8Array();

/** Null: not with this key. */
function openedBy(vault: Vault, sealed: Uint8Array, boundTo: string): Buffer | null {
  return vault.knows(sealed) ? vault.open(sealed, boundTo) : null;
}

async function asEdge<T>(act: (client: pg.Client) => Promise<T>, url = edgeUrl): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

describe.skipIf(without)('an edge with a role of its own', () => {
  it('answers the challenges of its names, serves them, and hears that they are gone', async () => {
    const { client } = service;
    // Only this edge is asked for the challenge.
    await until('live', async () => (await client.domain()).status === 'live');
    expect(await visit()).toMatchObject({ status: 200, body: expect.stringContaining('Hello') });
    await client.call('DELETE', client.domainPath);
    await until('refused', async () => (await visit().catch(() => null)) === null);
  }, 120_000);

  it('has a key that opens what it serves, and nothing else', async () => {
    const vault = createVault(edgeVaultKey());
    const { prisma } = service.signpost.parts.database;
    const opened = (name: string, sealed: Uint8Array) => [
      name,
      openedBy(vault, sealed, name) !== null,
    ];
    const secrets = await prisma.derivedSecret.findMany({ orderBy: { name: 'asc' } });
    expect(secrets.map((one) => opened(`derived_secret/${one.name}`, one.sealedValue))).toEqual([
      ['derived_secret/probe', true],
      ['derived_secret/proof', false],
      ['derived_secret/session', false],
      ['derived_secret/signing', true],
      ['derived_secret/target', true],
      ['derived_secret/tickets', true],
    ]);
    const [account] = await prisma.acmeAccount.findMany();
    expect(opened(`acme_account/${account?.directoryUrl}`, account?.sealedKey ?? empty)[1]).toBe(
      false,
    );
    const keys = await prisma.certificate.findMany({ where: { status: 'issued' } });
    expect(keys.map((one) => opened(`certificate/${one.id}`, one.sealedKey ?? empty)[1])).toEqual([
      true,
    ]);
  });

  const refused: readonly string[] = [
    'SELECT * FROM api_key',
    'SELECT id FROM api_key',
    'SELECT sealed_secret FROM webhook',
    'SELECT sealed_old_secret FROM webhook',
    'SELECT url FROM webhook',
    'SELECT sealed_key FROM acme_account',
    'SELECT sealed_key FROM local_authority',
    'SELECT * FROM pet',
    'SELECT * FROM account',
    'SELECT * FROM idempotent_answer',
    'SELECT data FROM event',
    'SELECT * FROM domain',
    'SELECT target FROM domain',
    'SELECT order_url FROM certificate',
    'SELECT name FROM project',
    "UPDATE domain SET status = 'live'",
    "UPDATE project SET primary_hostname = 'other.test'",
    "UPDATE deploy SET upstream = 'http://other.test'",
    "UPDATE certificate SET chain = ''",
    'DELETE FROM challenge',
    "INSERT INTO derived_secret (name, sealed_value) VALUES ('target', '')",
    'CREATE TABLE mine (id int)',
    'CREATE TEMPORARY TABLE mine (id int)',
    'SELECT lo_create(0)',
    'SELECT lo_creat(-1)',
    "SELECT lo_from_bytea(0, 'a megabyte, again and again')",
    'SELECT * FROM bullmq.job',
    'GRANT SELECT ON api_key TO signpost_edge',
  ];
  it.each(refused)('may not %s', async (statement) => {
    const fault = await asEdge((client) => client.query(statement)).catch(
      (error: unknown) => error,
    );
    expect([statement, fault]).toEqual([statement, expect.objectContaining({ code: '42501' })]);
  });

  it.each(['postgres', 'template1'])('may not connect to %s', async (database) => {
    const url = Object.assign(new URL(edgeUrl), { pathname: `/${database}` }).href;
    const fault = await asEdge((client) => client.query('SELECT 1'), url).catch((error) => error);
    expect([database, fault]).toEqual([database, expect.objectContaining({ code: '42501' })]);
  });

  it('may read each column of the list, and no other of any table', async () => {
    const granted = await asEdge((client) =>
      client.query(`SELECT c.relname AS "table", a.attname AS "column"
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'v', 'm', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
          AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')`),
    );
    const names = granted.rows.map(({ table, column }) => `${table}.${column}`).sort();
    const wanted = Object.entries(edgeColumns).flatMap(([table, columns]) =>
      columns.map((column) => `${table}.${column}`),
    );
    expect(names).toEqual(wanted.sort());
  });

  it('is no superuser, and neither is the role of APIs and workers', async () => {
    const { rows } = await asEdge((client) =>
      client.query(`SELECT rolname, rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls AS strong
        FROM pg_roles WHERE rolname LIKE 'signpost%' ORDER BY rolname`),
    );
    expect(rows).toEqual([
      { rolname: 'signpost', strong: false },
      { rolname: 'signpost_edge', strong: false },
    ]);
  });
});
