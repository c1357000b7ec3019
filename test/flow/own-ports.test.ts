/** UPSTREAM_NETWORKS names everything, loopback included, and a tenant looks for our own ports. */
import { networkInterfaces } from 'node:os';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { reachRules } from '../../src/certificates/reach/examine-reach.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startReceiver, status } from '../support/receiver.ts';
import { freePort } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { until, visitDomain } from '../support/world.ts';

const closings = closeAfterEach();
const name = 'own.shop.test';

/** Every way to write this machine in a URL. */
const hosts = [
  '127.0.0.1',
  '127.8.9.1',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0.0.0.0',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  'localhost',
  'api.localhost',
  name,
  ...Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address)),
];

function portOf(url: string, usual: number): number {
  return Number(new URL(url).port) || usual;
}

/** A live domain of a service with servers, and what the edge logged. */
async function startLive() {
  const { storage, close } = await freshStorage('postgres_redis');
  closings.push(close);
  if (storage.kind !== 'postgres_redis') throw new Error('not on servers');
  const reasons: string[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void reasons.push(JSON.parse(line).reason) },
  );
  const metricsPort = await freePort();
  const env = {
    UPSTREAM_NETWORKS: '0.0.0.0/0,::/0',
    METRICS_PORT: String(metricsPort),
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
  const service = await startService({ storage, ca: 'local authority', env }, log);
  closings.push(service.close);
  const { client, signpost, world } = service;
  const { record } = await client.addDomain();
  const records = [`docs CNAME ${record.value}.`, 'own A 127.0.0.1'];
  await world.publish(records);
  await until('live', async () => (await client.domain()).status === 'live');
  const [, projectId = ''] = /projects\/([^/]+)/.exec(client.domainPath) ?? [];
  const roots = await world.rootCertificates(signpost.service.rootCertificate);
  const ports = {
    api: Number(new URL(world.apiUrl).port),
    metrics: metricsPort,
    'edge over HTTP': world.edgeHttpPort,
    'edge over HTTPS': world.edgeHttpsPort,
    database: portOf(storage.databaseUrl, 5432),
    Redis: portOf(storage.redisUrl, 6379),
  };
  const report = (upstream: string) =>
    client.call('POST', `/v1/projects/${projectId}/deploys`, { status: 'succeeded', upstream });
  /** Past the check of the API, as if the DNS had changed since. */
  const store = (upstream: string) =>
    signpost.service.deploys.add(
      wholeInstallation,
      projectId,
      { status: 'succeeded', upstream },
      new Date(),
    );
  return {
    ...service,
    ports,
    reasons,
    report,
    store,
    records,
    see: () => visitDomain(world, roots),
  };
}

const onServers = storages.find(({ name: storage }) => storage === 'postgres_redis');

describe.skipIf(onServers?.available !== true)('With every network in UPSTREAM_NETWORKS', () => {
  it('the API and the edge refuse every own port in every notation', async () => {
    const { ports, reasons, report, see, store } = await startLive();
    expect((await see()).body).toContain('Hello');
    for (const [what, port] of Object.entries(ports)) {
      for (const host of hosts) {
        const upstream = `http://${host}:${port}`;
        const { status: refused, body } = await report(upstream);
        expect([what, upstream, refused]).toEqual([what, upstream, 400]);
        expect(JSON.stringify(body)).toContain('where Signpost itself or its storage listens');
        await store(upstream);
        reasons.length = 0;
        await until(`${upstream} is refused`, async () => {
          const visit = await see();
          return (
            visit.status === 502 && reasons.some((reason) => reason.includes(` port ${port},`))
          );
        });
      }
    }
  });

  it('the edge refuses a name that later resolves to an own port', async () => {
    const { client, ports, records, report, see, world } = await startLive();
    const moved = (address: string) =>
      world.publish(records.map((one) => one.replace('own A 127.0.0.1', `own A ${address}`)));
    await moved('192.0.2.1');
    expect((await report(`http://${name}:${ports.api}`)).status).toBe(201);
    await moved('127.0.0.1');
    await until('refused', async () => (await see()).body.includes('The address of the server'));
    expect((await client.call('GET', '/healthz')).status).toBe(200);
  });

  it('webhooks reach no own port, neither directly nor by a redirect', async () => {
    const { ports, signpost } = await startLive();
    const post = (url: string) =>
      signpost.service.send({ url, headers: {}, body: '{}', timeoutMs: 10_000 });
    for (const port of Object.values(ports)) {
      for (const host of hosts) {
        expect([host, await post(`http://${host}:${port}/`)]).toEqual([
          host,
          { kind: 'unanswered', problem: 'address_refused' },
        ]);
      }
    }
    const receiver = await startReceiver();
    closings.push(receiver.close);
    receiver.respond = status(307, { location: `http://127.0.0.1:${ports.api}/healthz` });
    expect(await post(receiver.url)).toMatchObject({ kind: 'answered', status: 307 });
  });

  it('probes reach the edge’s ports, but no other own port', async () => {
    const { ports, signpost } = await startLive();
    const { config, observer, ownListeners, probes } = signpost.service;
    const { isAllowed } = reachRules({
      config,
      lookupAddresses: observer.lookupAddresses,
      probes,
      ownListeners,
    });
    const allowed = await Promise.all(
      Object.values(ports).map((port) => isAllowed('127.0.0.1', port)),
    );
    expect(allowed).toEqual([false, false, true, true, false, false]);
  });
});
