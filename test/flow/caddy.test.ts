/** Caddy in front of the edge as in production, with separate processes, PostgreSQL and Redis. */
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { signpost } from '../cli/cli.ts';
import { startBrowser } from '../support/browser.ts';
import { type Caddy, runCaddy } from '../support/caddy.ts';
import { closeAfterAll } from '../support/closings.ts';
import { startReplaceableProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { sizeOfRun } from '../support/run.ts';
import { freePort, type PostgresServer, startPostgres, startRedis } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { until } from '../support/world.ts';

const greeting = 'Hello from the project’s deploy.\n';
const secret = 'the-secret-of-caddy-and-this-edge';
const closings = closeAfterAll();
let postgres: PostgresServer;
let service: RunningService;
let edge: Awaited<ReturnType<typeof startReplaceableProcess>>;
let caddy: Caddy;
let caddyfile: string;
let ca: string;
let page: Page | null = null;

const what = 'Caddy in front of the edge, with certificates from Pebble';
const without =
  lacks('caddy', what) ||
  lacks('pebble', what) ||
  lacks('postgres', what) ||
  lacks('redis-server', what);

beforeAll(async () => {
  if (without) return;
  const [database, redis] = await Promise.all([startPostgres(), startRedis()]);
  postgres = database;
  closings.push(database.close, redis.close);
  const behindCaddy = async () => ({
    EDGE: 'caddy',
    EDGE_CADDY_SECRET: secret,
    EDGE_CADDY_ADDRESS: `127.0.0.1:${await freePort()}`,
  });
  service = await startService({
    storage: { kind: 'postgres_redis', databaseUrl: database.url, redisUrl: redis.url },
    ca: 'Pebble',
    env: await behindCaddy(),
  });
  closings.push(service.close);
  const env = { ...service.world.env, ...(await behindCaddy()), ROLE: 'edge' };
  edge = await startReplaceableProcess(env);
  closings.push(async () => void (await edge.stop()));
  caddyfile = (await signpost(['edge', 'caddyfile'], env)).stdout;
  caddy = await startCaddy();
  const { client, world } = service;
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
  await until('live', async () => (await client.domain()).status === 'live');
  ca = await world.rootCertificates(async () => null);
}, 180_000);

async function startCaddy(): Promise<Caddy> {
  const started = await runCaddy(() => caddyfile, { EDGE_CADDY_SECRET: secret });
  closings.push(started.close);
  return started;
}

const place = () => ({ host: '127.0.0.1', port: service.world.edgeHttpsPort, ca });

/** One visit over HTTP/1.1 on a new connection; rejects when the handshake fails. */
async function visit(hostname = service.world.hostname) {
  const headers = { host: hostname };
  const options = { ...place(), servername: hostname, headers, agent: false };
  const [answer] = await once(request(options).end(), 'response');
  return { status: answer.statusCode, body: await text(answer) };
}

function openHttp2(hostname = service.world.hostname) {
  const { port } = place();
  const client = connectHttp2(`https://${hostname}:${port}`, {
    createConnection: () => connectTls({ ...place(), servername: hostname, ALPNProtocols: ['h2'] }),
  });
  client.on('error', () => {});
  closings.push(async () => client.destroy());
  return {
    async get() {
      const stream = client.request({ ':path': '/' });
      const [answer] = await once(stream, 'response');
      return { status: answer[':status'], body: await text(stream) };
    },
  };
}

const isServed = async () => (await visit().catch(() => null))?.body === greeting;

describe.skipIf(without)('Behind Caddy', { timeout: 180_000 }, () => {
  it('a domain goes live over HTTP/1.1 and HTTP/2', async () => {
    expect(await visit()).toEqual({ status: 200, body: greeting });
    expect(await openHttp2().get()).toEqual({ status: 200, body: greeting });
  });

  it('the certificate is from Pebble, and Caddy stores none', async () => {
    const { certificate } = await service.client.domain();
    expect(certificate.issuer).toMatch(/Pebble/);
    const stored = await readdir(caddy.folder, { recursive: true });
    expect(stored.filter((name) => name.includes(service.world.hostname))).toEqual([]);
  });

  it.skipIf(lacks('chromium', 'HTTP/3 by a browser'))('a browser uses HTTP/3', async () => {
    const { world } = service;
    const origin = `${world.hostname}:${world.edgeHttpsPort}`;
    const socket = connectTls({ ...place(), servername: world.hostname });
    await once(socket, 'secureConnect');
    const leaf = new X509Certificate(socket.getPeerCertificate().raw);
    socket.destroy();
    const key = leaf.publicKey.export({ type: 'spki', format: 'der' });
    const browser = await startBrowser([
      `--host-resolver-rules=MAP ${world.hostname} 127.0.0.1`,
      `--origin-to-force-quic-on=${origin}`,
      `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
    ]);
    closings.push(() => browser.close());
    page = await browser.newPage();
    const answer = await page.goto(`https://${origin}/`);
    expect(await answer?.text()).toContain('Hello from the project');
    const protocol = await page.evaluate(
      `performance.getEntriesByType('navigation')[0].nextHopProtocol`,
    );
    expect(protocol).toBe('h3');
  });

  it('a killed edge restarts while open connections continue', async () => {
    const open = openHttp2();
    expect((await open.get()).status).toBe(200);
    // Constant requests: a connection is closed after 15 idle seconds and a start can take longer.
    let isReplaced = false;
    const replacing = edge.replace().finally(() => {
      isReplaced = true;
    });
    while (!isReplaced) await open.get();
    await replacing;
    await until('served again', isServed);
    expect(await open.get()).toEqual({ status: 200, body: greeting });
  });

  it('a killed Caddy restarts with only its configuration', async () => {
    caddy.child.kill('SIGKILL');
    await once(caddy.child, 'exit');
    caddy = await startCaddy();
    await until('served again', isServed);
  });

  it('known names are served while PostgreSQL is down, and a removal takes effect afterwards', async () => {
    const { client, world } = service;
    const open = openHttp2();
    expect((await open.get()).status).toBe(200);
    await postgres.stop();
    for (let count = 0; count < sizeOfRun({ quick: 5, long: 50 }); count += 1) {
      expect(await visit()).toEqual({ status: 200, body: greeting });
      expect((await open.get()).status).toBe(200);
      await expect(visit(`nobody.${world.zone}`)).rejects.toThrow(/alert|ECONNRESET/i);
    }
    await postgres.restart();
    await until('removed', async () => {
      return (await client.call('DELETE', client.domainPath)).status === 204;
    });
    await until('refused on open connections', async () => (await open.get()).status === 421);
    await expect(visit()).rejects.toThrow(/alert|ECONNRESET/i);
    // A browser answers 421 with another connection, whose handshake fails.
    const again = await page?.evaluate(`fetch('/').then((it) => it.status, () => 'refused')`);
    if (page !== null) expect([421, 'refused']).toContain(again);
  });
});
