/** A complete flow at LOG_LEVEL=trace: lines have ids and no secrets. */
import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { logOptions } from '../../src/ops/log.ts';
import { closeAfterAll } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { startPostgres, startRedis } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { until } from '../support/world.ts';

const without =
  lacks('postgres', 'the log of a flow') || lacks('redis-server', 'the log of a flow');

type Line = Readonly<Record<string, unknown>> & { readonly msg: string };

const closings = closeAfterAll();
const secrets = new Map<string, string>();
let hostname = '';
let raw = '';
let lines: readonly Line[] = [];
const logged = (words: string) => raw.includes(words);

beforeAll(async () => {
  if (without) return;
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  closings.push(postgres.close, redis.close);
  const write = (line: string) => {
    raw += line;
  };
  const storage = {
    kind: 'postgres_redis',
    databaseUrl: postgres.url,
    redisUrl: redis.url,
  } as const;
  const log = pino(logOptions({ logLevel: 'trace', role: 'all' }), { write });
  const service = await startService({ storage, ca: 'local authority' }, log);
  closings.push(service.close);
  await live(service);
  await redis.kill();
  await service.client.addDomain(); // by another project
  await until('the queue was missed', async () => logged('the queue is unavailable'));
  await redis.restart();
  await outage(service, postgres);
  for (const close of closings.splice(0).reverse()) await close();
  lines = raw
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
});

/** Calls everything that has a secret, and sends secrets in the wrong places. */
async function live({ client, world }: RunningService): Promise<void> {
  secrets.set('API_KEY', world.apiKey);
  secrets.set('KEY_ENCRYPTION_KEY', world.env['KEY_ENCRYPTION_KEY'] ?? '');
  const bytes = Buffer.from(world.env['KEY_ENCRYPTION_KEY'] ?? '', 'base64');
  secrets.set('KEY_ENCRYPTION_KEY in hex', bytes.toString('hex'));
  const key = { name: 'k', scopes: ['domains:read'] };
  const minted = (await client.call('POST', '/v1/keys', key)).body as Record<string, string>;
  secrets.set('a minted key', textsIn(minted).find((text) => text.startsWith('signpost_')) ?? '');
  const { record } = await client.addDomain();
  const webhook = { url: 'https://receiver.example/hook' };
  const path = client.domainPath.replace(/\/domains\/.*/, '/webhooks');
  const made = (await client.call('POST', path, webhook)).body;
  secrets.set('a webhook secret', textsIn(made).find((text) => text.startsWith('whsec_')) ?? '');
  secrets.set('a session cookie', await signIn(world));
  await sayItEverywhere(world, secrets.get('a minted key') ?? '');
  await world.publish([`docs CNAME ${record.value}.`]);
  await until('live', async () => (await client.domain()).status === 'live');
  hostname = world.hostname;
}

async function signIn({ apiUrl, apiKey }: RunningService['world']): Promise<string> {
  const answered = await fetch(`${apiUrl}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: apiUrl, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key: apiKey }),
  });
  const [cookie = ''] = (answered.headers.get('set-cookie') ?? '').split(';');
  await fetch(`${apiUrl}/projects`, { headers: { cookie } });
  return cookie.split('=').slice(1).join('=');
}

async function sayItEverywhere({ apiUrl }: RunningService['world'], secret: string): Promise<void> {
  const authorization = `Bearer ${secret}`;
  const json = { authorization, 'content-type': 'application/json' };
  const asks: readonly [string, RequestInit][] = [
    [`/v1/pets/${secret}?key=${secret}`, { headers: { authorization, 'x-request-id': secret } }],
    [`/${secret}`, { headers: { cookie: `x=${secret}` } }],
    ['/v1/projects', { method: 'POST', headers: json, body: `{"name": "${secret}` }],
    [
      '/v1/projects',
      { method: 'POST', headers: { ...json, 'idempotency-key': secret }, body: '{}' },
    ],
  ];
  for (const [path, init] of asks) await fetch(apiUrl + path, init);
}

/** A job in an outage: a pending domain is checked while PostgreSQL is down. */
async function outage(
  { client }: RunningService,
  postgres: Awaited<ReturnType<typeof startPostgres>>,
) {
  const isBack = async () => (await client.call('GET', '/readyz')).status === 200;
  await until('a check', async () => (await client.domain()).checks.attempts > 0);
  await postgres.stop();
  await client.call('GET', client.domainPath);
  await until('a job met the outage', async () => logged('job postponed: dependency unavailable'));
  await postgres.restart();
  await until('it is back', isBack);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe.skipIf(without)('In the log of a flow', () => {
  it('every line has the role and the version, and no key twice', () => {
    for (const line of raw.trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({ role: 'all', version: expect.any(String) });
      expect(duplicateKeysIn(line)).toEqual([]);
    }
  });

  it('every line of a request has its id', () => {
    const ofRequests = lines.filter(
      ({ msg, status, operationId }) =>
        ['answered', 'fault'].includes(msg) || status !== undefined || operationId !== undefined,
    );
    expect(ofRequests.length).toBeGreaterThan(10);
    for (const line of ofRequests) expect(line).toHaveProperty('requestId', expect.any(String));
    const [away] = lines.filter(({ msg }) => msg.startsWith('the queue is unavailable'));
    expect(away).toMatchObject({ requestId: expect.any(String), domainId: expect.any(String) });
  });

  it('every line of a job has its queue and id, and those of its domain', () => {
    const ofJobs = lines.filter(({ msg }) => /^job /.test(msg));
    expect(ofJobs.length).toBeGreaterThan(0);
    for (const line of ofJobs) {
      expect(line).toMatchObject({ queue: expect.any(String), jobId: expect.any(String) });
      if (`${line['jobId']}`.includes('.')) {
        expect(line['jobId']).toContain(`${line['domainId']}.`);
      }
    }
  });

  it('every line about a domain has its id', () => {
    const about = lines.filter((line) => JSON.stringify(line).includes(hostname));
    for (const line of about) expect(line).toHaveProperty('domainId');
  });

  it('no secret appears in any form', () => {
    expect(secrets.size).toBe(6);
    for (const [name, secret] of secrets) {
      expect(secret.length, name).toBeGreaterThan(15);
      expect(logged(secret), name).toBe(false);
      const digest = createHash('sha256').update(secret).digest('hex');
      expect(logged(digest), `the digest of ${name}`).toBe(false);
      expect(logged(Buffer.from(secret).toString('base64')), `${name} in base64`).toBe(false);
    }
    expect(raw).not.toMatch(/PRIVATE KEY|authorization|cookie|Bearer/i);
  });
});

/** Of the outermost object: JSON.parse keeps the last value and says nothing. */
function duplicateKeysIn(line: string): readonly string[] {
  const keys: string[] = [];
  let depth = 0;
  for (const [token, key] of line.matchAll(
    /"((?:[^"\\]|\\.)*)"(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}[\]]/g,
  )) {
    if (key !== undefined && depth === 1) keys.push(key);
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
  }
  return keys.filter((key, nth) => keys.indexOf(key) !== nth);
}
