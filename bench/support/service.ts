/** Runs the service on the bench's servers, and sends its customers' requests over HTTP. */
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/servers.ts';
import { run, saidUntil } from './processes.ts';

export const KEY = 'the only key of this bench, long enough to be accepted';
/** Encrypts private keys at rest; targets are derived from it. */
export const KEY_ENCRYPTION_KEY = Buffer.alloc(32, 1);

export const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

export type Backing = {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Port of the only resolver and of all name servers. */
  readonly dnsPort: string;
};

export type Service = { readonly child: ChildProcess; readonly url: string };

/** As in production, with higher limits: the load comes from one address. */
export async function startService(
  { databaseUrl, redisUrl, dnsPort }: Backing,
  env: Readonly<Record<string, string>>,
): Promise<Service> {
  const port = String(await freePort());
  // Its log goes to a file, as in production.
  const log = openSync(join(tmpdir(), 'signpost-bench.log'), 'a');
  const child = run('../../src/main.js', import.meta.url, {
    env: {
      DATABASE_URL: databaseUrl,
      ACME_DIRECTORY_URL: 'local',
      REDIS_URL: redisUrl,
      PORT: port,
      EDGE_HTTP_PORT: String(await freePort()),
      EDGE_HTTPS_PORT: String(await freePort()),
      KEY_ENCRYPTION_KEY: KEY_ENCRYPTION_KEY.toString('base64'),
      API_KEY: KEY,
      DNS_SERVERS: `127.0.0.1:${dnsPort}`,
      DNS_AUTHORITY_PORT: dnsPort,
      DNS_ALLOW_PRIVATE: 'true',
      UPSTREAM_NETWORKS: '127.0.0.0/8',
      RATE_LIMIT_PER_KEY: '900000000',
      RATE_LIMIT_PER_ADDRESS: '900000000',
      ...env,
    },
    stderr: log,
  });
  closeSync(log); // the process has a copy
  await saidUntil(child, /\n/);
  return { child, url: `http://127.0.0.1:${port}` };
}

/** ID of a new project with a successful deploy. */
export async function addProject(
  url: string,
  name: string,
  upstream = 'http://127.0.0.1:9',
  accountId?: string,
): Promise<string> {
  const { id } = await post(`${url}/v1/projects`, { name, slug: name, plan: 'pro', accountId });
  await post(`${url}/v1/projects/${id}/deploys`, { status: 'succeeded', upstream });
  return String(id);
}

/** The API's answer. Rejects unless it is 2xx. */
export async function post(url: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const said = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${said}`);
  return JSON.parse(said);
}
