/** A key that may report deploys has the edge connect to what it likes: never to the platform itself, wherever that is. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { listen } from '../../src/http/socket/server.ts';
import { createOpsApi } from '../../src/roles/listeners.ts';
import { closeAfterEach } from '../support/closings.ts';
import { freePort } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

async function startPublished() {
  const name = storagesOfRun().findLast(({ available }) => available)?.name ?? 'embedded';
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const metricsPort = await freePort();
  const env = { METRICS_PORT: String(metricsPort) };
  const lines: { reason?: string; msg: string }[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const service = await startService({ storage, ca: 'local authority', env }, log);
  closings.push(service.close);
  const { world, client, signpost } = service;
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`, 'inside A 127.0.0.1']);
  await until('live', async () => (await client.domain()).status === 'live');
  const ca = await world.rootCertificates(signpost.parts.rootCertificate);
  const projectPath = client.domainPath.replace(/\/domains\/.*$/, '');

  async function visit(path: string) {
    const { hostname, edgeHttpsPort: port } = world;
    const options = { host: '127.0.0.1', port, servername: hostname, ca, agent: false } as const;
    const asked = request({ ...options, path, headers: { host: hostname } }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, body: await text(answer) };
  }
  const deploy = async (upstream: string) => {
    const { status, body } = await client.call('POST', `${projectPath}/deploys`, {
      status: 'succeeded',
      upstream,
    });
    return { status, message: (body as { message?: string }).message };
  };
  /** The edge hears of it; until then it is the deploy of before that answers. */
  const isDeployed = async (upstream: string) =>
    until(upstream, async () => {
      const route = await signpost.parts.lookups.findRoute(world.hostname);
      return route?.upstream === upstream && (await visit('/')).status !== 200;
    });
  return { ...service, storage, metricsPort, lines, visit, deploy, isDeployed };
}

it('no domain leads to the API, the metrics, the edge or the storage', async () => {
  const all = await startPublished();
  const { world, storage, metricsPort, visit, deploy, isDeployed } = all;
  const urls = [
    ...('databaseUrl' in storage ? [storage.databaseUrl] : []),
    ...('redisUrl' in storage ? [storage.redisUrl] : []),
  ];
  const own = [
    Number(new URL(world.apiUrl).port),
    metricsPort,
    world.edgeHttpPort,
    world.edgeHttpsPort,
    ...urls.map((url) => Number(new URL(url).port)),
  ];
  for (const port of own) {
    const refused = { status: 400, message: expect.stringMatching(/^upstream: must not lead to /) };
    expect(await deploy(`http://127.0.0.1:${port}/`)).toEqual(refused);
    expect(await deploy(`http://localhost:${port}/`)).toEqual(refused);
    // What a name leads to is for the edge to see, which allows the network itself (UPSTREAM_NETWORKS).
    const upstream = `http://inside.${world.zone}:${port}/`;
    expect((await deploy(upstream)).status).toBe(201);
    await isDeployed(upstream);
    const { status, body } = await visit('/metrics');
    expect([status, body.includes('# HELP')]).toEqual([502, false]);
    expect(all.lines.map(({ reason = '' }) => reason)).toContain(
      `must not lead to 127.0.0.1, port ${port}, where the platform itself answers`,
    );
  }
}, 180_000);

it('no domain leads to the metrics of another process, of which this one knows nothing', async () => {
  const { visit, deploy, isDeployed } = await startPublished();
  const metrics = async () => '# HELP signpost_secret The number of our customers.\n';
  const readiness = () => Promise.reject(new Error('not asked'));
  const api = createOpsApi({ metrics, readiness, token: undefined });
  const port = await freePort();
  const server = await listen(api, { host: '127.0.0.1', port, variable: 'METRICS_PORT' });
  closings.push(() => server.close(1_000));
  const upstream = `http://127.0.0.1:${port}/`;
  expect(await (await fetch(`${upstream}metrics`)).text()).toContain('signpost_secret');
  expect((await deploy(upstream)).status).toBe(201);
  await isDeployed(upstream);
  const { status, body } = await visit('/metrics');
  expect([status, body.includes('signpost_secret')]).toEqual([421, false]);
}, 180_000);
