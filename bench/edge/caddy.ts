/** Caddy, as one process on one processor: by itself, with certificates from files that it reads at its start, and before an edge of ours. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PeerOptions, Sites } from './contest.ts';
import { launch, type Program } from './programs.ts';

/** As `signpost edge caddyfile` configures it. */
export async function startCaddyBefore(
  text: string,
  folder: string,
  port: number,
): Promise<Program> {
  const config = join(folder, 'Caddyfile');
  await writeFile(config, text);
  return launch('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], {
    cwd: folder,
    port,
    env: { ...oneProcessor(folder), EDGE_CADDY_SECRET },
  });
}

/** By which the edge knows its Caddy. */
export const EDGE_CADDY_SECRET = 'a-secret-of-the-laboratory-and-nobody-else';

function oneProcessor(folder: string) {
  return { GOMAXPROCS: '1', XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
}

export async function startCaddyPeer(
  { hostnames, files, deploy }: Sites,
  { folder, port }: PeerOptions,
): Promise<Program> {
  await mkdir(folder, { recursive: true });
  const upstreams = [{ dial: new URL(deploy).host }];
  const server = {
    listen: [`127.0.0.1:${port}`],
    protocols: ['h1', 'h2', 'h3'],
    automatic_https: { disable: true },
    tls_connection_policies: [{}],
    routes: [{ handle: [{ handler: 'reverse_proxy', upstreams }] }],
  };
  const tls = {
    // By default it holds 10,000 and lets go of what it pleases.
    cache: { capacity: hostnames.length + 1 },
    certificates: {
      load_files: hostnames.map((hostname) => ({
        certificate: join(files, `${hostname}.crt`),
        key: join(files, `${hostname}.key`),
      })),
    },
  };
  const config = join(folder, 'caddy.json');
  const apps = { http: { servers: { edge: server } }, tls };
  const logging = { logs: { default: { level: 'ERROR' } } };
  await writeFile(config, JSON.stringify({ admin: { disabled: true }, logging, apps }));
  return launch('caddy', ['run', '--config', config], {
    cwd: folder,
    port,
    env: oneProcessor(folder),
  });
}
