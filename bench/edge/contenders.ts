/** Those that are compared, each as one process that serves, with the same sites. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../test/support/servers.ts';
import { cpuUsOfTree, stop } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import { startCaddyPeer } from './caddy.ts';
import type { Sites } from './contest.ts';
import { startNginxPeer } from './nginx.ts';
import type { Program } from './programs.ts';

export const contenders = [
  'signpost',
  'nginx, server each',
  'nginx, file by name',
  'caddy',
] as const;
export type Contender = (typeof contenders)[number];

export type Started = {
  readonly port: number;
  readonly pid: number | undefined;
  /** CPU that it has taken, in microseconds, and what PostgreSQL has taken meanwhile for whoever asks it. */
  cpu(): { readonly own: number; readonly database: number };
  stop(): Promise<void>;
};

/** The peers have no limits for one address, from which all of a bench comes; neither has the edge, where `env` names none. */
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
  const database = () => (name === 'signpost' ? cpuUsOfTree(sites.servers.postgresPid) : 0);
  return {
    port,
    pid: program.pid,
    cpu: () => ({ own: cpuUsOfTree(program.pid), database: database() }),
    stop: program.stop,
  };
}

async function start(
  name: Contender,
  sites: Sites,
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<Program> {
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
  }
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
  return { pid: child.pid, stop: () => stop(child) };
}
