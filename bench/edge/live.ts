/**
 * Time from a correct DNS record to the first good HTTPS answer, with certificates from Pebble. Signpost obtains the
 * certificate before the first visit; Caddy, with on-demand certificates, obtains it during the first visit.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startCaddy } from '../../test/support/caddy.ts';
import { type Pebble, startPebble } from '../../test/support/pebble.ts';
import { freePort } from '../../test/support/servers.ts';
import { numberFrom, percentile } from '../support/figures.ts';
import { sleep, stop } from '../support/processes.ts';
import { addProject, headers, post, startService } from '../support/service.ts';
import { startDeploy } from './nginx.ts';
import type { Servers } from './servers.ts';
import { createVisitor, type Visitor } from './visitor.ts';
import { PLATFORM, publish, ZONE } from './zone.ts';

const DOMAINS = numberFrom('DOMAINS', 40);
/** Average time between two records, so that few visitors come at once. */
const APART_MS = 2_500;
/** The page has been open for at least this long when the record appears, plus less than one wait between checks. */
const OPEN_MS = 3_000;
const STEP_MS = 5_000;

/** What the customer does after adding the record. */
const customers = ['does nothing', 'has the page open', 'presses verify'] as const;
type Customer = (typeof customers)[number];

type World = {
  readonly servers: Servers;
  readonly ports: { readonly http: number; readonly https: number };
  readonly deploy: string;
  readonly pebble: Pebble;
  readonly visitor: Visitor;
};

export async function live(servers: Servers): Promise<readonly string[]> {
  const ports = { http: await freePort(), https: await freePort() };
  const deploy = await startDeploy(servers.folder);
  const pebble = await startPebble({
    httpPort: ports.http,
    tlsPort: ports.https,
    dnsServer: `127.0.0.1:${servers.dnsPort}`,
  });
  try {
    const visitor = createVisitor(ports.https, await pebble.rootCertificates());
    const world = { servers, ports, deploy: deploy.url, pebble, visitor };
    const ours = await measureSignpost(world);
    const caddys = await measureCaddy(world);
    return report(ours, caddys);
  } finally {
    await pebble.close();
    await deploy.program.stop();
  }
}

async function measureSignpost(world: World): Promise<ReadonlyMap<Customer, readonly number[]>> {
  const [http, https] = [String(world.ports.http), String(world.ports.https)];
  const { child, url } = await startService(world.servers, {
    EDGE_HTTP_PORT: http,
    EDGE_HTTPS_PORT: https,
    PUBLIC_HTTPS_PORT: https,
    ACME_HTTP_PORT: http,
    ACME_TLS_PORT: https,
    ACME_DIRECTORY_URL: world.pebble.directoryUrl,
    ACME_CA_FILE: world.pebble.caFile,
    PLATFORM_DOMAIN: PLATFORM,
    UPSTREAM_NETWORKS: '127.0.0.0/8',
  });
  const waits = new Map<Customer, number[]>(customers.map((customer) => [customer, []]));
  const lives: Promise<void>[] = [];
  for (const [place, customer] of customers.entries()) {
    const projectId = await addProject(url, `shop-${place}`, world.deploy);
    const project = `${url}/v1/projects/${projectId}`;
    for (let nth = 0; nth < DOMAINS; nth += 1) {
      const one = oneLife(world, project, `${'abc'[place]}${nth}`, customer);
      lives.push(one.then((ms) => void waits.get(customer)?.push(ms)));
    }
  }
  await Promise.all(lives);
  await stop(child);
  return waits;
}

async function oneLife(
  { servers, visitor }: World,
  project: string,
  label: string,
  customer: Customer,
): Promise<number> {
  const hostname = `${label}.${ZONE}`;
  const { record } = await post(`${project}/domains`, { hostname });
  const { value } = record as { value: string }; // from our API
  await sleep(Math.random() * DOMAINS * APART_MS);
  const page = new AbortController();
  if (customer === 'has the page open') {
    const events = `${project}/events?hostname=${hostname}`;
    const { ok, status } = await fetch(events, { headers, signal: page.signal });
    if (!ok) throw new Error(`${events}: ${status}`);
  }
  await sleep(OPEN_MS + STEP_MS * Math.random());
  await publish(servers.nameServer, `${label} CNAME ${value}.`);
  const right = performance.now();
  const answered = visitor.untilGood(hostname);
  if (customer === 'presses verify') await post(`${project}/domains/${hostname}/verify`, {});
  const ms = (await answered) - right;
  page.abort();
  process.stderr.write(`signpost, ${customer}: ${ms.toFixed(0)} ms\n`);
  return ms;
}

/** The first visitor comes when the record is correct; an earlier one would make Caddy ask without success. */
async function measureCaddy(world: World): Promise<readonly number[]> {
  const ask = createServer((_request, response) => response.end());
  await new Promise<void>((resolve) => ask.listen(0, '127.0.0.1', resolve));
  const { port } = ask.address() as AddressInfo; // it listens on TCP
  const caddy = await startCaddy({
    httpPort: world.ports.http,
    httpsPort: world.ports.https,
    apiUrl: `http://127.0.0.1:${port}`,
    upstream: world.deploy,
    acme: world.pebble,
  });
  const waits = await Promise.all(
    Array.from({ length: DOMAINS }, async (_, nth) => {
      await sleep(Math.random() * DOMAINS * 1_000);
      await publish(world.servers.nameServer, `caddy${nth} A 127.0.0.1`);
      const right = performance.now();
      const ms = (await world.visitor.untilGood(`caddy${nth}.${ZONE}`)) - right;
      process.stderr.write(`caddy: ${ms.toFixed(0)} ms\n`);
      return ms;
    }),
  );
  await caddy.close();
  ask.closeAllConnections();
  await new Promise((resolve) => ask.close(resolve));
  return waits;
}

function report(
  ours: ReadonlyMap<Customer, readonly number[]>,
  caddys: readonly number[],
): readonly string[] {
  const row = (title: string, waits: readonly number[]) => {
    if (waits.length !== DOMAINS) throw new Error(`${title}: measured nothing`);
    const figures = [percentile(waits, 0.5), percentile(waits, 0.95), Math.max(...waits)];
    return `| ${title} | ${figures.map(seconds).join(' | ')} |`;
  };
  return [
    `| ${DOMAINS} domains each | p50 | p95 | longest |`,
    '|---|---|---|---|',
    ...customers.map((customer) =>
      row(`signpost, the customer ${customer}`, ours.get(customer) ?? []),
    ),
    row('caddy on demand, while its first visitor waits', caddys),
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
