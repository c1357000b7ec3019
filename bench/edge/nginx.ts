/** nginx with one worker: the deploy behind every contender, and two contenders. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../test/support/servers.ts';
import type { PeerOptions, Sites } from './contest.ts';
import { launch, type Program } from './programs.ts';

/**
 * Two ways to serve many certificates: a `server` with its certificate for each name, read at the start, as
 * configuration generators write it; or one `server` that reads the name's files at each handshake.
 */
export type NginxWay = 'server each' | 'file by name';

/** A short, constant answer; it costs less than any contender. */
export async function startDeploy(folder: string): Promise<{ url: string; program: Program }> {
  const port = await freePort();
  const program = await startNginx(join(folder, 'deploy'), port, [
    `server { listen 127.0.0.1:${port}; return 200 "hello\\n"; }`,
  ]);
  return { url: `http://127.0.0.1:${port}`, program };
}

export async function startNginxPeer(
  way: NginxWay,
  { hostnames, files, deploy }: Sites,
  { folder, port }: PeerOptions,
): Promise<Program> {
  const servers =
    way === 'file by name'
      ? [server(port, '_', join(files, '$ssl_server_name'))]
      : hostnames.map((hostname) => server(port, hostname, join(files, hostname)));
  return startNginx(folder, port, [
    `upstream deploy { server ${new URL(deploy).host}; keepalive 128; keepalive_requests 1000000000; }`,
    'proxy_http_version 1.1;',
    'proxy_set_header Connection "";',
    'proxy_set_header Host $host;',
    'proxy_set_header X-Forwarded-For $remote_addr;',
    'proxy_set_header X-Forwarded-Proto https;',
    'ssl_protocols TLSv1.2 TLSv1.3;',
    'ssl_session_timeout 12h;',
    `server_names_hash_max_size ${Math.max(512, 4 * hostnames.length)};`,
    'server_names_hash_bucket_size 128;',
    ...servers,
  ]);
}

function server(port: number, name: string, file: string): string {
  return `server { listen 127.0.0.1:${port} ssl; server_name ${name}; ssl_certificate ${file}.crt; ssl_certificate_key ${file}.key; location / { proxy_pass http://deploy; } }`;
}

async function startNginx(folder: string, port: number, http: readonly string[]): Promise<Program> {
  await mkdir(folder, { recursive: true });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const lines = [
    'daemon off;',
    'worker_processes 1;',
    'worker_rlimit_nofile 20000;',
    `pid ${join(folder, 'nginx.pid')};`,
    'error_log stderr warn;',
    // The worker must be able to read the folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'events { worker_connections 10000; }',
    'http {',
    'access_log off;',
    'keepalive_requests 1000000000;',
    ...temporary.map((name) => `${name}_temp_path ${join(folder, name)};`),
    ...http,
    '}',
  ];
  const config = join(folder, 'nginx.conf');
  await writeFile(config, `${lines.join('\n')}\n`);
  return launch('nginx', ['-e', 'stderr', '-p', folder, '-c', config], { cwd: folder, port });
}
