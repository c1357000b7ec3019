/** The contenders: each is one process that serves the same sites. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { caddyfile } from '../../src/edge/caddy/caddyfile.ts';
import { freePort } from '../../test/support/servers.ts';
import { cpuUsOf, cpuUsOfTree, sleep, stop } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import { EDGE_CADDY_SECRET, startCaddyBefore, startCaddyPeer } from './caddy.ts';
import type { PeerOptions, Sites } from './contest.ts';
import { startNginxPeer } from './nginx.ts';
import type { Program } from './programs.ts';

export const contenders = [
  'signpost',
  'nginx, server each',
  'nginx, file by name',
  'caddy',
  'caddy before signpost',
] as const;
export type Contender = (typeof contenders)[number];

export type Started = {
  readonly port: number;
  readonly pid: number | undefined;
  /** The deploy behind it, a separate process. */
  readonly behindPid: number | undefined;
  /** CPU time in microseconds of the contender and of PostgreSQL, which only it uses. */
  cpu(): { readonly own: number; readonly database: number };
  stop(): Promise<void>;
};

/** Started before another contender, as its backend. */
type Behind = Program & { readonly behind?: Program };

function cpuOf({ pid, behind }: Behind): number {
  return cpuUsOfTree(pid) + (behind === undefined ? 0 : cpuUsOfTree(behind.pid));
}

/** The peers have no limits per address, and all load comes from one. The edge has none either, unless `env` sets them. */
const unlimited = {
  EDGE_CONNECTIONS_PER_ADDRESS: '10000',
  EDGE_HANDSHAKES_PER_SECOND: '1000000',
  EDGE_HANDSHAKES_PER_ADDRESS: '1000000',
} as const;

export async function startContender(
  name: Contender,
  sites: Sites,
  env: Readonly<Record<string, string>> = unlimited,
): Promise<Started> {
  const port = await freePort();
  const program = await start(name, sites, port, env);
  const database = () => (name.endsWith('signpost') ? cpuUsOfTree(sites.servers.postgresPid) : 0);
  return {
    port,
    pid: program.pid,
    behindPid: program.behind?.pid,
    cpu: () => ({ own: cpuOf(program), database: database() }),
    stop: program.stop,
  };
}

async function start(
  name: Contender,
  sites: Sites,
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<Behind> {
  const options = { folder: await mkdtemp(join(sites.servers.folder, 'peer-')), port };
  switch (name) {
    case 'signpost':
      return startSignpost(sites, port, env);
    case 'nginx, server each':
      return startNginxPeer('server each', sites, options);
    case 'nginx, file by name':
      return startNginxPeer('file by name', sites, options);
    case 'caddy':
      return startCaddyPeer(sites, options);
    case 'caddy before signpost':
      return startCaddyAndSignpost(sites, options, env);
  }
}

async function startCaddyAndSignpost(
  sites: Sites,
  { folder, port }: PeerOptions,
  env: Readonly<Record<string, string>>,
): Promise<Behind> {
  const [gatewayPort, httpPort] = [await freePort(), await freePort()];
  const behind = await startSignpost(sites, port, {
    ...env,
    EDGE: 'caddy',
    EDGE_CADDY_ADDRESS: `127.0.0.1:${gatewayPort}`,
    EDGE_CADDY_SECRET,
  });
  const text = caddyfile({
    http: { host: '127.0.0.1' },
    api: { trustedProxies: [] },
    edge: {
      httpPort,
      httpsPort: port,
      publicHttpsPort: port,
      caddy: { address: '127.0.0.1', port: gatewayPort },
    },
  });
  const program = await startCaddyBefore(text, folder, port);
  return {
    pid: program.pid,
    behind,
    async stop() {
      await program.stop();
      await behind.stop();
    },
  };
}

async function startSignpost(
  { servers }: Sites,
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<Program> {
  const { child } = await startService(servers, {
    ...env,
    ROLE: 'edge',
    EDGE_HTTPS_PORT: String(port),
    UPSTREAM_NETWORKS: '127.0.0.0/8',
  });
  await idle(child.pid);
  return { pid: child.pid, stop: () => stop(child) };
}

/** Resolution of /proc; a process with a timer uses a tick now and then. */
const TICK_US = 10_000;

/** Resolves when a process is idle: our edge prepares certificates after its start, the others before. */
async function idle(pid: number | undefined): Promise<void> {
  for (let before = 0, now = cpuUsOf(pid); now - before > TICK_US; now = cpuUsOf(pid)) {
    before = now;
    await sleep(500);
  }
}
