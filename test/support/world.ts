/** A real service's surroundings: the customer's DNS and deploy, and a CA. */
import { randomBytes } from 'node:crypto';
import {
  PLATFORM_DOMAIN,
  startTestLab,
  type TestLab,
  visit,
  ZONE,
} from '../../src/cli/demo/test-lab.ts';
import type { Storage } from '../../src/config/config.ts';
import { startPebble } from './pebble.ts';
import { freePort } from './servers.ts';

export type CaKind = 'local authority' | 'Pebble';

export type World = {
  readonly hostname: string;
  readonly zone: string;
  readonly upstream: string;
  readonly apiKey: string;
  /** The service's environment, for src/config/config.ts or for a process. */
  readonly env: Readonly<Record<string, string>>;
  readonly apiUrl: string;
  readonly edgeHttpPort: number;
  readonly edgeHttpsPort: number;
  readonly publish: TestLab['publish'];
  /** The roots of the CA's certificates. */
  rootCertificates(localRoot: () => Promise<string | null>): Promise<string>;
  close(): Promise<void>;
};

export type WorldOptions = {
  readonly storage: Storage;
  readonly ca: CaKind;
  readonly env?: Readonly<Record<string, string>>;
  /** The port of http-01 challenges instead of the edge's, for unreachable challenges. */
  readonly challengePort?: number;
};

export async function startWorld(options: WorldOptions): Promise<World> {
  const { storage, ca, env = {} } = options;
  const testLab = await startTestLab();
  const [port, edgeHttpPort, edgeHttpsPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const challengePort = options.challengePort ?? edgeHttpPort;
  const pebble =
    ca === 'Pebble'
      ? await startPebble({
          httpPort: challengePort,
          tlsPort: edgeHttpsPort,
          dnsServer: `127.0.0.1:${testLab.dnsPort}`,
        })
      : null;
  const apiKey = `test-${randomBytes(16).toString('hex')}`;
  return {
    hostname: `docs.${ZONE}`,
    zone: ZONE,
    upstream: testLab.upstream,
    apiKey,
    apiUrl: `http://127.0.0.1:${port}`,
    edgeHttpPort,
    edgeHttpsPort,
    publish: testLab.publish,
    env: {
      ...storageEnv(storage),
      ...(pebble
        ? { ACME_DIRECTORY_URL: pebble.directoryUrl, ACME_CA_FILE: pebble.caFile }
        : { ACME_DIRECTORY_URL: 'local' }),
      PORT: String(port),
      EDGE_HTTP_PORT: String(edgeHttpPort),
      EDGE_HTTPS_PORT: String(edgeHttpsPort),
      ACME_HTTP_PORT: String(challengePort),
      ACME_TLS_PORT: String(edgeHttpsPort),
      PUBLIC_HTTPS_PORT: String(edgeHttpsPort),
      API_KEY: apiKey,
      PLATFORM_DOMAIN,
      DNS_SERVERS: `127.0.0.1:${testLab.dnsPort}`,
      DNS_AUTHORITY_PORT: String(testLab.dnsPort),
      DNS_ALLOW_PRIVATE: 'true',
      UPSTREAM_NETWORKS: '127.0.0.0/8',
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      // The ladder's steps shrink with the window: a check every quarter of a second.
      VERIFY_WINDOW: '10m',
      TIME_SCALE: '288',
      LOG_LEVEL: 'warn',
      ...env,
    },
    rootCertificates: async (localRoot) =>
      pebble ? pebble.rootCertificates() : ((await localRoot()) ?? ''),
    async close() {
      await pebble?.close();
      await testLab.close();
    },
  };
}

/** Opens the domain like a browser. Rejects if the handshake fails. */
export function visitDomain({ hostname, edgeHttpsPort }: World, roots: string) {
  return visit(hostname, edgeHttpsPort, roots);
}

/** A check over HTTP takes 8 ms of CPU time, so the poll interval grows with the wait. */
const PAUSE_MS = { least: 25, most: 200, shareOfWaited: 1 / 8 } as const;

/** Polls until `found` returns a value and returns it; fails with `what` after `deadlineMs`. */
export async function until<T>(
  what: string,
  found: () => Promise<T | null | undefined | false>,
  deadlineMs = 80_000,
): Promise<T> {
  const begun = Date.now();
  for (;;) {
    const value = await found();
    if (value) return value;
    const waitedMs = Date.now() - begun;
    if (waitedMs > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    const wantedMs = waitedMs * PAUSE_MS.shareOfWaited;
    const pauseMs = Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, wantedMs));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function storageEnv(storage: Storage): Record<string, string> {
  switch (storage.kind) {
    case 'embedded':
      return { DATA_DIR: storage.dataDir };
    case 'postgres':
      return { DATABASE_URL: storage.databaseUrl };
    case 'postgres_redis':
      return { DATABASE_URL: storage.databaseUrl, REDIS_URL: storage.redisUrl };
  }
}
