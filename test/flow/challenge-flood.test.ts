/** Challenge requests are unauthenticated: a flood must not affect visitors or removals. */
import { once } from 'node:events';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import pg from 'pg';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { startSignpost } from '../../src/start.ts';
import type { Shown } from '../support/client.ts';
import { closeAfterAll } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { sizeOfRun } from '../support/run.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const FLOOD = sizeOfRun({ quick: 250, long: 1_000 });
/** The statement timeout of the edge (src/db/engine/client.ts), which a busy machine can hit. */
const STATEMENT_MS = 10_000;
const greeting = 'Hello from the project’s deploy.\n';
const closings = closeAfterAll();
const without = lacks('postgres', 'a flood of challenges');
let service: RunningService;
let edge: { readonly httpPort: number; readonly httpsPort: number };
let ca: string;

beforeAll(async () => {
  if (without) return;
  const { storage, close } = await freshStorage('postgres');
  closings.push(close);
  service = await startService({ storage, ca: 'local authority' });
  closings.push(service.close);
  const { client, world, signpost } = service;
  const own = { ROLE: 'edge', EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' };
  const config = loadConfig({ ...world.env, ...own, EDGE_CONNECTIONS_PER_ADDRESS: '5000' });
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  const alone = await startSignpost(config.config, pino({ level: 'silent' }));
  closings.push(() => alone.close(1_000));
  if (alone.addresses.edge === null) throw new Error('no edge');
  edge = alone.addresses.edge;
  await client.addDomain();
  const path = client.domainPath.replace(/[^/]*$/, '');
  const records = await Promise.all(
    ['docs', 'notified', 'unnotified'].map(async (label) => {
      const hostname = `${label}.${world.zone}`;
      if (label !== 'docs') await client.call('POST', path.slice(0, -1), { hostname });
      const { body } = await client.call('GET', `${path}${hostname}`);
      return `${label} CNAME ${(body as Shown).record.value}.`;
    }),
  );
  await world.publish(records);
  await until('live', async () => {
    const { body } = await client.call('GET', path.slice(0, -1));
    return (body as Shown[]).every(({ status }) => status === 'live');
  });
  ca = await world.rootCertificates(signpost.service.rootCertificate);
});
const at = '127.0.0.1';

/** One visit on a new connection; null when the handshake fails. */
async function visit(hostname: string): Promise<string | null> {
  const options = { host: at, port: edge.httpsPort, servername: hostname, ca, agent: false };
  const asked = secureRequest({ ...options, headers: { host: hostname } }).end();
  const [answer] = await once(asked, 'response').catch(() => [null]);
  return answer === null ? null : text(answer);
}

describe.skipIf(without)('While many challenge requests wait', { timeout: 180_000 }, () => {
  let lock: pg.Client;
  let lockedAt: number;
  let answered: number;
  let flood: Promise<unknown>[];

  /** The status for a new token. */
  async function ask(hostname: string, nth: number): Promise<number> {
    const path = `/.well-known/acme-challenge/nobodys-${nth}`;
    const headers = { host: hostname };
    const asked = request({ host: at, port: edge.httpPort, path, headers, agent: false });
    const [answer] = await once(asked.end(), 'response');
    answered += 1;
    return answer.resume().statusCode;
  }

  beforeEach(async () => {
    const { signpost, world } = service;
    answered = 0;
    expect(await visit(`docs.${world.zone}`)).toBe(greeting);
    // Blocks every challenge lookup.
    lock = new pg.Client(world.env['DATABASE_URL']);
    await lock.connect();
    lockedAt = performance.now();
    await lock.query('BEGIN; LOCK TABLE challenge IN ACCESS EXCLUSIVE MODE');
    flood = Array.from({ length: FLOOD }, (_, nth) => ask(`docs.${world.zone}`, nth));
    const waiting = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    // On another connection than the lock's, whose transaction would keep returning the same.
    const { pool } = signpost.service.database;
    await until('one waits', async () => (await pool.query(waiting)).rowCount === 1);
  });
  afterEach(async () => {
    await lock.query('COMMIT');
    await lock.end();
    await Promise.all(flood);
  });

  function expectAnswered(count: number): void {
    expect(answered).toBeGreaterThanOrEqual(count);
    if (performance.now() - lockedAt < STATEMENT_MS) expect(answered).toBe(count);
  }

  /** Directly in SQL: removing a domain ends its challenges, and that table is locked. */
  async function remove(hostname: string): Promise<void> {
    const { prisma } = service.signpost.service.database;
    await prisma.domain.updateMany({ where: { hostname }, data: { removedAt: new Date() } });
  }

  /** A connection that waits for a request; the result waits for its end. */
  async function openConnection(servername: string): Promise<() => Promise<unknown>> {
    const socket = connect({ host: at, port: edge.httpsPort, ca, servername });
    socket.on('error', () => {});
    const closed = once(socket.resume(), 'close');
    await once(socket, 'secureConnect');
    return () => closed;
  }

  it('names are served, a removal takes effect, and at most one database connection is used', async () => {
    const { zone } = service.world;
    const closed = await openConnection(`notified.${zone}`);
    await remove(`notified.${zone}`);
    await closed();
    expect(await visit(`notified.${zone}`)).toBeNull();
    for (let nth = 0; nth < 20; nth += 1) expect(await visit(`docs.${zone}`)).toBe(greeting);
    expect(await ask(`nobody.${zone}`, 0)).toBe(404);
    expectAnswered(1); // an unheld name is not looked up
  });

  it('a removal takes effect whose notification was lost', async () => {
    const { zone } = service.world;
    const closed = await openConnection(`unnotified.${zone}`);
    await lock.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN %'`,
    );
    await remove(`unnotified.${zone}`);
    await closed();
    expect(await visit(`unnotified.${zone}`)).toBeNull();
    expect(await visit(`docs.${zone}`)).toBe(greeting);
    expectAnswered(0);
  });
});
