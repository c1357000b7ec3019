/**
 * A production setup on loopback: one `api`, three `worker`s and two `edge`s behind balancers,
 * PostgreSQL and Redis behind proxies, a CA and name servers.
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Role } from '../../../src/core/operations/roles.ts';
import {
  type FrontRequest,
  type Meddling,
  type Said,
  startAcmeFront,
} from '../../support/acme-front.ts';
import { startPebble } from '../../support/pebble.ts';
import {
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '../../support/servers.ts';
import type { Endings } from '../endings.ts';
import { startBalancer } from './balancer.ts';
import { type ServerProxy, startProxy } from './proxy.ts';
import { apiBackends, createPlace, edgeBackends, type Place } from './roles.ts';
import { sleep } from './wait.ts';
import { PLATFORM_DOMAIN, startZones, type Zones } from './zones.ts';

const VERIFY_WINDOW = '12m';
/**
 * Divides every wait of the service, and turns the reconciler's 20 s into `RECONCILE_MS`
 * (workers/running/work-times.ts).
 */
const TIME_SCALE = '240';
export const RECONCILE_MS = 3_000;
const DISK_MB = 3_000;
/** Enough for every process plus one of each; few enough to be used up. */
const CONNECTIONS = 150;

export type System = {
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly upstream: string;
  readonly visitorsPort: number;
  readonly places: readonly Place[];
  placesOf(role: Role): readonly Place[];
  /** Queries PostgreSQL directly, past the proxy. Waits while another fault has it down. */
  sql<T extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<T[]>;
  readonly postgres: PostgresServer;
  readonly postgresProxy: ServerProxy;
  readonly redis: RedisServer;
  readonly redisProxy: ServerProxy;
  /** Holds PostgreSQL's data; null if it could not be mounted. */
  readonly disk: RamDisk | null;
  readonly zones: Zones;
  readonly authority: Authority;
  readonly env: Readonly<Record<string, string>>;
};

/** The application name of the test's own connections. */
export const OUR_NAME = 'faults';

export const GREETING = 'Hello from the deploy.';

export async function startSystem(
  folder: string,
  endings: Endings,
  { timeScale = TIME_SCALE } = {},
): Promise<System> {
  const disk = await mountRamDisk(DISK_MB);
  if (disk !== null) endings.push('the disk', disk.close);
  const postgres = await startPostgres({
    maxConnections: CONNECTIONS,
    ...(disk && { below: disk.path }),
  });
  endings.push('PostgreSQL', postgres.close);
  const redis = await startRedis();
  endings.push('Redis', redis.close);
  const [postgresProxy, redisProxy] = [
    await startProxy(portOf(postgres.url)),
    await startProxy(portOf(redis.url)),
  ];
  endings.push('the proxies', () => Promise.all([postgresProxy.close(), redisProxy.close()]));
  const zones = await startZones();
  endings.push('the name servers', zones.close);
  const upstream = await startUpstream(endings);
  const places: Place[] = [];
  const placesOf = (role: Role) => places.filter((place) => place.role === role);
  const balancers = {
    api: await startBalancer(() => apiBackends(placesOf('api'))),
    http: await startBalancer(() => edgeBackends(placesOf('edge'), 'http')),
    https: await startBalancer(() => edgeBackends(placesOf('edge'), 'https')),
  };
  endings.push('the balancers', () =>
    Promise.all(Object.values(balancers).map((one) => one.close())),
  );
  const ports = { httpPort: balancers.http.port, tlsPort: balancers.https.port };
  const authority = await startAuthority(ports, zones.dnsPort);
  endings.push('the certificate authority', authority.close);
  const apiKey = `faults-${randomBytes(16).toString('hex')}`;
  const databaseUrl = `postgres://postgres@127.0.0.1:${postgresProxy.port}/postgres`;
  const env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: `redis://127.0.0.1:${redisProxy.port}`,
    ...envOf({ authority, dnsPort: zones.dnsPort, apiKey, ...ports }),
    TIME_SCALE: timeScale,
  };
  await startPlaces(places, env, folder, endings);
  const pool = new pg.Pool({
    connectionString: postgres.url,
    application_name: OUR_NAME,
    max: 3,
  });
  pool.on('error', () => {}); // a restart ends idle connections
  endings.push('the connections', () => pool.end());
  return {
    apiUrl: `http://127.0.0.1:${balancers.api.port}`,
    apiKey,
    upstream,
    visitorsPort: balancers.https.port,
    places,
    placesOf,
    sql: (text, values) => whenUp(async () => (await pool.query(text, values)).rows),
    postgres,
    postgresProxy,
    redis,
    redisProxy,
    disk,
    zones,
    authority,
    env,
  };
}

async function startPlaces(
  places: Place[],
  env: Readonly<Record<string, string>>,
  folder: string,
  endings: Endings,
): Promise<void> {
  const wanted: readonly [Role, number][] = [
    ['api', 1],
    ['worker', 3],
    ['edge', 2],
  ];
  for (const [role, count] of wanted) {
    for (let number = 1; number <= count; number += 1) {
      places.push(await createPlace(role, `${role}-${number}`, env, folder));
    }
  }
  endings.push('the processes', () => Promise.all(places.map(endPlace)));
  // One at a time, which is fastest with few CPUs.
  for (const place of places) await place.start();
}

async function endPlace(place: Place): Promise<void> {
  if (place.pid !== undefined) await place.kill();
}

type Given = {
  readonly authority: Authority;
  readonly dnsPort: number;
  readonly apiKey: string;
  readonly httpPort: number;
  readonly tlsPort: number;
};

function envOf({ authority, dnsPort, apiKey, httpPort, tlsPort }: Given): Record<string, string> {
  return {
    API_KEY: apiKey,
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PLATFORM_DOMAIN,
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    DNS_AUTHORITY_PORT: String(dnsPort),
    DNS_ALLOW_PRIVATE: 'true',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    UPSTREAM_NETWORKS: '127.0.0.0/8',
    ACME_DIRECTORY_URL: authority.directoryUrl,
    ACME_CA_FILE: authority.caFile,
    ACME_HTTP_PORT: String(httpPort),
    ACME_TLS_PORT: String(tlsPort),
    PUBLIC_HTTPS_PORT: String(tlsPort),
    EDGE_CONNECTIONS_PER_ADDRESS: '100000', // all visitors share one address
    RATE_LIMIT_PER_KEY: '900000',
    RATE_LIMIT_PER_ADDRESS: '900000',
    VERIFY_WINDOW,
    LOG_LEVEL: 'warn',
  };
}

const AWAY_MS_MAX = 90_000;

/** Retries a deadlock (SQLSTATE class 40), and when the server is unavailable (08, 53, 57). */
async function whenUp<T>(act: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + AWAY_MS_MAX;
  for (;;) {
    try {
      return await act();
    } catch (fault) {
      const { code = '' } = fault as { code?: string }; // of pg and of the system
      const isOurs = /^[0-9A-Z]{5}$/.test(code) && !/^(40|53|57|08)/.test(code);
      if (isOurs || performance.now() > deadline) throw fault;
      await sleep(200);
    }
  }
}

async function startUpstream(endings: Endings): Promise<string> {
  const server = createServer((_request, response) => response.end(GREETING));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push('the deploy', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/* Pebble as the CA, behind a proxy that records orders and injects faults. */

type Placed = { readonly hostname: string; readonly url: string };

type Authority = {
  readonly directoryUrl: string;
  readonly caFile: string;
  readonly roots: string;
  /** Placed orders whose client waited for the response, oldest first. */
  readonly placed: readonly Placed[];
  /** Null: no fault. */
  misbehave(how: Meddling | null): void;
  close(): Promise<void>;
};

type AuthorityPorts = { readonly httpPort: number; readonly tlsPort: number };

async function startAuthority(ports: AuthorityPorts, dnsPort: number): Promise<Authority> {
  const pebble = await startPebble({ ...ports, dnsServer: `127.0.0.1:${dnsPort}` });
  const front = await startAcmeFront(pebble).catch(async (fault: unknown) => {
    await pebble.close();
    throw fault;
  });
  const placed: Placed[] = [];
  const note = (request: FrontRequest, said: Said) => {
    const url = said.headers['location'];
    if (request.step !== 'newOrder' || said.status !== 201 || url === undefined) return;
    if (!request.isAwaited()) return; // the client never saw it
    const { identifiers } = request.payload as { identifiers: readonly { value: string }[] }; // RFC 8555, 7.4
    placed.push({ hostname: identifiers[0]?.value ?? '', url });
  };
  const misbehave: Authority['misbehave'] = (how) => {
    front.forget();
    front.meddle({
      ...(how?.before && { before: how.before }),
      after(request, said) {
        note(request, said);
        return how?.after?.(request, said);
      },
    });
  };
  misbehave(null);
  return {
    directoryUrl: front.directoryUrl,
    caFile: front.caFile,
    roots: await pebble.rootCertificates(),
    placed,
    misbehave,
    async close() {
      await front.close();
      await pebble.close();
    },
  };
}

/* A small RAM disk that can be filled up; needs the right to mount. */

const run = promisify(execFile);

const LAST_BYTES = 8_000_000;

type RamDisk = {
  readonly path: string;
  fill(): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
};

/** Null if this user may not mount. */
async function mountRamDisk(megabytes: number): Promise<RamDisk | null> {
  const path = await mkdtemp(join(tmpdir(), 'signpost-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path]);
  } catch {
    await rm(path, { recursive: true });
    return null;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    async fill() {
      const { bavail, bsize } = await statfs(path);
      const most = Number(bavail) * Number(bsize) - LAST_BYTES;
      await run('fallocate', ['-l', String(Math.max(1, most)), ballast]);
      // Repeats until no room is left, because others write, too.
      await run('dd', [
        'if=/dev/zero',
        `of=${ballast}`,
        'bs=4k',
        'oflag=append',
        'conv=notrunc',
      ]).catch(() => undefined);
    },
    empty: () => rm(ballast, { force: true }),
    async close() {
      await run('umount', [path]).catch(() => run('umount', ['-l', path]));
      await rm(path, { recursive: true });
    },
  };
}
