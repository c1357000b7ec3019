/** A complete service with dashboard, an editable customer zone, and visitors at the edge. */
import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { freshStorage, type StorageName } from './storage.ts';
import { type CaKind, startWorld } from './world.ts';

export type DashboardFixture = {
  /** Of API and dashboard, without a trailing slash; stable across restarts. */
  readonly url: string;
  readonly apiKey: string;
  readonly zone: string;
  readonly upstream: string;
  /** Replaces the zone's lines under this name; without lines, removes them. */
  readonly publish: (owner: string, ...lines: readonly string[]) => Promise<void>;
  /** Requests `/a?b=c`. Rejects if the handshake fails. */
  readonly visit: (hostname: string) => Promise<Visited>;
  /** One API call with the key; the body is sent as text. */
  readonly call: (method: string, path: string, body?: string) => Promise<Response>;
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Visited = {
  readonly status: number | undefined;
  readonly to: string | undefined;
  readonly body: string;
};

export async function startDashboardFixture(
  storageName: StorageName,
  ca: CaKind,
): Promise<DashboardFixture> {
  const { storage, close: closeStorage } = await freshStorage(storageName);
  const world = await startWorld({ storage, ca });
  const { apiKey, apiUrl: url, upstream, zone } = world;
  const records = new Map<string, readonly string[]>();
  let signpost: Signpost | null = null;

  async function start(): Promise<void> {
    signpost = await startSignpost(configOf(world.env), pino({ level: 'silent' }));
  }
  async function stop(): Promise<void> {
    await signpost?.close(10_000);
    signpost = null;
  }
  await start();

  return {
    url,
    apiKey,
    zone,
    upstream,
    publish(owner, ...lines) {
      records.set(owner, lines);
      const all = [...records].flatMap(([name, its]) => its.map((line) => `${name} ${line}`));
      return world.publish(all);
    },
    async visit(hostname) {
      const running = signpost;
      const roots = world.rootCertificates(async () => running?.service.rootCertificate() ?? null);
      return visitEdge(hostname, world.edgeHttpsPort, await roots);
    },
    call: (method, path, body) =>
      fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body }),
      }),
    start,
    stop,
    async close() {
      await stop();
      await world.close();
      await closeStorage();
    },
  };
}

function configOf(env: Readonly<Record<string, string>>): Config {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

async function visitEdge(servername: string, port: number, ca: string): Promise<Visited> {
  const options = { host: '127.0.0.1', port, servername, ca, agent: false } as const;
  const asked = request({ ...options, path: '/a?b=c', headers: { host: servername } });
  const [answer] = await once(asked.end(), 'response');
  return { status: answer.statusCode, to: answer.headers.location, body: await text(answer) };
}
