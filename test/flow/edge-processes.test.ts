/** Changes reach each of several edge processes, and a database outage does not affect visitors. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { age } from '../support/aged-certificate.ts';
import { type Beside, startBeside } from '../support/beside.ts';
import type { Shown } from '../support/client.ts';
import { closeAfterAll } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { sizeOfRun } from '../support/run.ts';
import { freePort, type PostgresServer, startPostgres } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { until } from '../support/world.ts';

const greeting = 'Hello from the project’s deploy.\n';
const closings = closeAfterAll();
let postgres: PostgresServer;
let service: RunningService;
/** The HTTPS ports of two edges outside the API and workers; one is always a separate process. */
let edges: readonly number[];
let ca: string;
let projectPath: string;
const records: string[] = [];

const without = lacks('postgres', 'separate edge processes');

beforeAll(async () => {
  if (without) return;
  postgres = await startPostgres();
  closings.push(postgres.close);
  const storage = { kind: 'postgres', databaseUrl: postgres.url } as const;
  service = await startService({ storage, ca: 'local authority' });
  closings.push(service.close);
  edges = await Promise.all([startEdge(startProcess), startEdge(startBeside)]);
  const { client, signpost, world } = service;
  const { record } = await client.addDomain();
  projectPath = client.domainPath.replace(/\/domains\/.*$/, '');
  records.push(`docs CNAME ${record.value}.`);
  await world.publish(records);
  await until('live', async () => (await client.domain()).status === 'live');
  ca = await world.rootCertificates(signpost.service.rootCertificate);
});

async function startEdge(start: (env: RunningService['world']['env']) => Promise<Beside>) {
  const [http, https] = [await freePort(), await freePort()];
  const edge = await start({
    ...service.world.env,
    ROLE: 'edge',
    EDGE_HTTP_PORT: String(http),
    EDGE_HTTPS_PORT: String(https),
  });
  closings.push(edge.stop);
  return https;
}

async function publish(label: string): Promise<string> {
  const { client, world } = service;
  const hostname = `${label}.${world.zone}`;
  const { body } = await client.call('POST', `${projectPath}/domains`, { hostname });
  records.push(`${label} CNAME ${(body as Shown).record.value}.`);
  await world.publish(records);
  await until(`${hostname} everywhere`, () => everywhere(hostname, ({ status }) => status === 200));
  return hostname;
}

type Seen = { status: number; to: string | undefined; body: string; serial: string };

/** One visit on a new connection; rejects when the handshake fails. */
async function visit(hostname: string, port: number): Promise<Seen> {
  const options = { host: '127.0.0.1', port, servername: hostname, ca, agent: false } as const;
  const [answer] = await once(
    request({ ...options, headers: { host: hostname } }).end(),
    'response',
  );
  const { serialNumber: serial } = (answer.socket as TLSSocket).getPeerCertificate();
  return {
    status: answer.statusCode,
    to: answer.headers.location,
    body: await text(answer),
    serial,
  };
}

async function everywhere(hostname: string, is: (seen: Seen) => boolean): Promise<boolean> {
  const seen = await Promise.all(edges.map((port) => visit(hostname, port).catch(() => null)));
  return seen.every((one) => one !== null && is(one));
}

async function isRefused(hostname: string, port: number): Promise<boolean> {
  const refused = await visit(hostname, port).catch((fault: Error) => fault);
  if (refused instanceof Error) expect(refused.message).toMatch(/handshake failure|ECONNRESET/i);
  return refused instanceof Error;
}

async function expectGone(hostname: string): Promise<void> {
  for (const port of edges) {
    await until(`${hostname} refused at ${port}`, () => isRefused(hostname, port));
  }
  for (let round = 0; round < sizeOfRun({ quick: 15, long: 50 }); round += 1) {
    for (const port of edges) expect(await isRefused(hostname, port)).toBe(true);
  }
}

/** An idle open connection to each edge. */
async function openConnections(hostname: string): Promise<readonly TLSSocket[]> {
  return Promise.all(
    edges.map(async (port) => {
      const socket = connect({ host: '127.0.0.1', port, ca, servername: hostname });
      socket.on('error', () => {});
      closings.push(async () => socket.destroy());
      await once(socket, 'secureConnect');
      return socket.resume();
    }),
  );
}

/** Another request on an open connection; returns the response up to the deploy's body. */
function askOn(socket: TLSSocket, hostname: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const end = () => reject(new Error(`closed after ${JSON.stringify(answer)}`));
    const onData = (part: Buffer) => {
      answer += String(part);
      if (!answer.includes(greeting)) return;
      socket.off('data', onData).off('close', end);
      resolve(answer);
    };
    socket.on('data', onData).once('close', end);
    socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  });
}

const remove = (hostname: string) =>
  service.client.call('DELETE', `${projectPath}/domains/${hostname}`);
const setDomains = (domains: unknown) =>
  service.client.call('PUT', `${projectPath}/domain-settings`, { domains });

describe.skipIf(without)('At two edge processes', { timeout: 180_000 }, () => {
  it('a removal stops the traffic for good, also on open connections', async () => {
    const hostname = await publish('removed');
    const closed = (await openConnections(hostname)).map((socket) => once(socket, 'close'));
    expect((await remove(hostname)).status).toBe(204);
    await Promise.all(closed);
    await expectGone(hostname);
    expect(await everywhere(service.world.hostname, ({ body }) => body === greeting)).toBe(true);
  });

  it('a removal whose notification is lost stops the traffic', async () => {
    const hostname = await publish('unheard');
    const closed = (await openConnections(hostname)).map((socket) => once(socket, 'close'));
    const { service: parts } = service.signpost;
    const { projectId } = await parts.database.prisma.domain.findFirstOrThrow({
      where: { hostname },
    });
    const { rowCount } = await parts.database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`,
    );
    expect(rowCount).toBeGreaterThan(1);
    await parts.domains.remove(wholeInstallation, { projectId, hostname }, { at: new Date() });
    await Promise.all(closed);
    await expectGone(hostname);
  });

  it('redirects, the primary domain and a deploy take effect', async () => {
    const { world, client } = service;
    const from = await publish('from');
    const redirects = [{ from, to: world.hostname, status: 302 }];
    await setDomains({ primary: world.hostname, redirects });
    await until('the redirect', () => everywhere(from, ({ status }) => status === 302));
    await setDomains({ primary: null, redirects: [] });
    await until('no redirect', () => everywhere(from, ({ status }) => status === 200));

    const deploy = createServer(({ headers }, response) => {
      response.end(`primary: ${headers['signpost-primary-domain']}`);
    });
    await once(deploy.listen(0, '127.0.0.1'), 'listening');
    closings.push(async () => void deploy.close().closeAllConnections());
    const { port } = deploy.address() as AddressInfo; // it listens on TCP
    const upstream = `http://127.0.0.1:${port}`;
    await client.call('POST', `${projectPath}/deploys`, { status: 'succeeded', upstream });
    await until('the new deploy', () =>
      everywhere(from, ({ body }) => body === 'primary: undefined'),
    );
    await setDomains({ primary: from, redirects: [] });
    await until('the primary', () => everywhere(from, ({ body }) => body === `primary: ${from}`));
    await setDomains({ primary: null, redirects: [] });
    await client.call('POST', `${projectPath}/deploys`, {
      status: 'succeeded',
      upstream: world.upstream,
    });
    await until('the previous deploy', () => everywhere(from, ({ body }) => body === greeting));
  });

  it('a new certificate is served while open connections stay open', async () => {
    const hostname = await publish('renewed');
    const [first] = await Promise.all(edges.map((port) => visit(hostname, port)));
    const open = await openConnections(hostname);
    await age(service.signpost.service.database, hostname);
    await until('the new one', async () => {
      // An edge closes connections that are idle for seconds, which would fail this test.
      for (const socket of open) await askOn(socket, hostname);
      return everywhere(hostname, ({ serial }) => serial !== first?.serial);
    });
    for (const socket of open) {
      expect(await askOn(socket, hostname)).toMatch(/HTTP\/1\.1 200 /);
      expect(socket.getPeerCertificate().serialNumber).toBe(first?.serial);
    }
  });

  it('known names are served while PostgreSQL is down, unknown ones rejected, and removals take effect later', async () => {
    const hostname = await publish('outage');
    const unknown = `nobody.${service.world.zone}`;
    await postgres.stop();
    for (let round = 0; round < sizeOfRun({ quick: 5, long: 20 }); round += 1) {
      expect(await everywhere(hostname, ({ body }) => body === greeting)).toBe(true);
      for (const port of edges) expect(await isRefused(unknown, port)).toBe(true);
    }
    await postgres.restart();
    await until('removed', async () => (await remove(hostname)).status === 204);
    await expectGone(hostname);
    expect(await everywhere(service.world.hostname, ({ body }) => body === greeting)).toBe(true);
  });
});
