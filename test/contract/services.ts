/** The tested services in this process: one in each state. */
import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { listenHttp } from '../../src/http/socket/server.ts';
import { startDnsServer } from '../../src/lab/dns-server.ts';
import { startSignpost } from '../../src/start.ts';
import { forward } from '../support/forward.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import type { Circumstances } from './cases.ts';

/** An admin key of every service. */
export const API_KEY = `contract-${randomBytes(16).toString('hex')}`;

/** A verified domain of the plain service. */
export const heldHostname = 'held.shop.test';
/** One for each context that needs one. */
/** Refused. */
export const processIds: readonly string[] = Array.from({ length: 20 }, () => randomUUID());
export const escalationIds: readonly string[] = Array.from({ length: 20 }, () => randomUUID());

export type Services = {
  /** Base URLs without a trailing slash. The busy service is the plain one at times (busy.ts). */
  readonly origins: Readonly<Record<Circumstances, string>>;
  /** The database of the plain service. */
  readonly databaseUrl: string;
  close(): Promise<void>;
};

type Closings = (() => Promise<unknown>)[];
const CLOSE_MS = 10_000;

/** Starts all of them or none. */
export async function startServices(): Promise<Services> {
  const closings: Closings = [];
  const close = async () => {
    for (const closing of closings.splice(0).toReversed()) await closing();
  };
  try {
    const plain = await startPlain(closings, await startTestLab(closings));
    const exhausted = await startExhausted(closings);
    const withoutDatabase = await startWithoutDatabase(closings);
    const after2030 = await startOnFreshStorage(closings, {}, () => new Date('2031-01-01'));
    return {
      origins: {
        plain: plain.origin,
        busy: plain.origin,
        full: plain.fullOrigin,
        exhausted: exhausted.origin,
        'without database': withoutDatabase.origin,
        'after 2030': after2030.origin,
      },
      databaseUrl: plain.databaseUrl,
      close,
    };
  } catch (fault) {
    await close();
    throw fault;
  }
}

/** The plain service's DNS: zones on loopback only. */
async function startTestLab(closings: Closings): Promise<Readonly<Record<string, string>>> {
  const zones = { 'shop.test': [], 'edge.signpost.test': ['* A 127.0.0.1'] };
  const dns = await startDnsServer({ zones });
  closings.push(() => dns.close());
  return {
    DNS_SERVERS: `${dns.address}:${dns.port}`,
    DNS_AUTHORITY_PORT: String(dns.port),
    DNS_ALLOW_PRIVATE: 'true',
    UPSTREAM_NETWORKS: '127.0.0.0/8',
  };
}

/** The full service is the plain one behind another port without free connections. */
async function startPlain(closings: Closings, env: Readonly<Record<string, string>>) {
  const plain = await startOnFreshStorage(closings, env);
  await hold(plain.prisma);
  const connections = { total: 0, perAddress: 0 };
  const full = await listenHttp(plain.api, { host: '127.0.0.1', port: 0, connections });
  closings.push(() => full.close(0));
  return { ...plain, fullOrigin: `http://127.0.0.1:${full.address.port}` };
}

/** Of a project on the Free plan with a live domain, and one that waits. */
export const liveProjectId = '00000000-0000-4000-8000-00000000000a';
export const waitingHostname = 'waiting.shop.test';

/** Stored directly, because no worker runs. */
async function hold(prisma: PrismaClient): Promise<void> {
  const at = new Date();
  const times = { addedAt: at, pendingSince: at, verifiedAt: at };
  const names = { hostname: heldHostname, target: 'x.edge.signpost.test' };
  const domain = { id: randomUUID(), status: 'verified', ...names, ...times } as const;
  const project = { id: randomUUID(), name: 'Held', slug: 'held' };
  await prisma.project.create({ data: { ...project, domains: { create: domain } } });
  const live = { ...domain, id: randomUUID(), hostname: 'live.shop.test', status: 'live' } as const;
  const served = { id: liveProjectId, name: 'Live', slug: 'live' };
  const waiting = {
    ...live,
    id: randomUUID(),
    hostname: waitingHostname,
    status: 'pending',
  } as const;
  await prisma.project.create({ data: { ...served, domains: { create: [live, waiting] } } });
  const opened = {
    cause: 'platform_fault',
    evidence: {},
    nextAction: '',
    openedAt: at,
    closedAt: at,
  };
  const data = escalationIds.map((id) => ({ id, domainId: domain.id, ...opened }));
  await prisma.escalation.createMany({ data });
  await prisma.fleetProcess.createMany({
    data: processIds.map((one) => ({
      ...{ id: one, role: 'worker', host: 'worker-2', pid: 1, version: '1.0.0' },
      ...{ settings: { EDGE: 'caddy' }, problem: 'EDGE is caddy.' },
      ...{ startedAt: at, seenAt: at, isRefused: true },
    })),
  });
}

/** Every request exceeds the limit, and its window never ends. */
async function startExhausted(closings: Closings) {
  const at = new Date();
  const service = await startOnFreshStorage(closings, { RATE_LIMIT_PER_ADDRESS: '1' }, () => at);
  await fetch(`${service.origin}/healthz`);
  return service;
}

/** The port to its database is closed after the start. */
async function startWithoutDatabase(closings: Closings) {
  const { storage, close } = await freshStorage('postgres');
  closings.push(close);
  const url = new URL(storage.kind === 'postgres' ? storage.databaseUrl : '');
  const port = await freePort();
  const shut = await forward(port, Number(url.port));
  url.port = String(port);
  const service = await start(closings, { DATABASE_URL: url.href });
  await shut();
  return service;
}

async function startOnFreshStorage(
  closings: Closings,
  env: Readonly<Record<string, string>> = {},
  now?: () => Date,
) {
  const { storage, close } = await freshStorage('postgres');
  closings.push(close);
  if (storage.kind !== 'postgres') throw new Error(`expected PostgreSQL, not ${storage.kind}`);
  return start(closings, { ...env, DATABASE_URL: storage.databaseUrl }, now);
}

async function start(
  closings: Closings,
  env: Readonly<Record<string, string>> & { readonly DATABASE_URL: string },
  now?: () => Date,
) {
  const result = loadConfig({
    ACME_DIRECTORY_URL: 'local',
    ROLE: 'api',
    PORT: '0',
    API_KEY,
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ...env,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }), now);
  closings.push(() => signpost.close(CLOSE_MS));
  const { api, addresses } = signpost;
  if (api === null || addresses.http === null) throw new Error('ROLE=api did not start the API');
  const { prisma } = signpost.service.database;
  return { origin: addresses.http, databaseUrl: env.DATABASE_URL, api, prisma };
}
