/** Caddy as one process on one CPU: alone, with certificates from files read at its start, or in front of our edge. */
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

/** Token that Caddy sends to the edge. */
export const EDGE_CADDY_SECRET = 'a-secret-of-this-bench';

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
    // The default of 10,000 would evict some.
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
