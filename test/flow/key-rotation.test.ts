/**
 * Rotating KEY_ENCRYPTION_KEY without downtime, as in docs/run/key-rotation.md: services on one
 * PostgreSQL have the keys in different orders while everything is resealed.
 */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { runRotateKeys } from '../../src/cli/rotate-keys.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { capturedIo } from '../cli/io.ts';
import { type Client, createClient, type Shown } from '../support/client.ts';
import { closeAfterAll } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { type Receiver, startReceiver, verified } from '../support/receiver.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, visitDomain, type World } from '../support/world.ts';

const [old, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
const without =
  lacks('postgres', 'a new key encryption key') || lacks('pebble', 'a new key encryption key');
const closings = closeAfterAll();
const records: string[] = [];
let world: World;
let client: Client;
let receiver: Receiver;
let first: Signpost;
let second: Signpost;
let roots: string;
let webhook: { readonly id: string; readonly secret: string };
let cookie: string;

type Keys = readonly (string | undefined)[];

/** Starts the service on the world's storage with these keys. */
async function start(keys: Keys, ports: 'the world’s' | 'others'): Promise<Signpost> {
  const others = { PORT: '0', EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' };
  const env = { ...world.env, KEY_ENCRYPTION_KEY: keys.join(',') };
  const result = loadConfig(ports === 'others' ? { ...env, ...others } : env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(10_000));
  return signpost;
}

async function rotateKeys(keys: Keys, options: { readonly check?: boolean } = {}) {
  const env = { DATABASE_URL: world.env['DATABASE_URL'], KEY_ENCRYPTION_KEY: keys.join(',') };
  const { io, said } = capturedIo(env);
  const outcome = await runRotateKeys(options, io);
  return { out: said.out(), err: said.err(), outcome };
}

const projectPath = () => client.domainPath.replace(/\/domains\/.*/, '');

async function add(label: string): Promise<Shown> {
  const hostname = `${label}.${world.zone}`;
  const answer = await client.call('POST', `${projectPath()}/domains`, { hostname });
  const shown = answer.body as Shown; // our own API's documented shape
  records.push(`${label} CNAME ${shown.record.value}.`);
  await world.publish(records);
  return shown;
}

async function goesLive(label: string): Promise<void> {
  const path = `${projectPath()}/domains/${label}.${world.zone}`;
  await until(`${label} live`, async () => {
    return ((await client.call('GET', path)).body as Shown).status === 'live';
  });
}

/** One visit at the edge of this service; rejects when the handshake fails. */
function visit(label: string, { addresses }: Signpost) {
  const edgeHttpsPort = addresses.edge?.httpsPort ?? 0;
  return visitDomain({ ...world, hostname: `${label}.${world.zone}`, edgeHttpsPort }, roots);
}

/** Visits these edges until it is stopped; returns the counts or rejects with the first failure. */
function visitors(...signposts: readonly Signpost[]) {
  let isOver = false;
  const count = async (signpost: Signpost) => {
    for (let visits = 0; ; visits += 1) {
      if (isOver && visits > 0) return visits;
      expect((await visit('docs', signpost)).status).toBe(200);
    }
  };
  const all = Promise.all(signposts.map(count));
  all.catch(() => {}); // handled when it is awaited
  return async () => {
    isOver = true;
    return all;
  };
}

async function page(path: string): Promise<number> {
  const response = await fetch(world.apiUrl + path, { headers: { cookie }, redirect: 'manual' });
  return response.status;
}

const account = () => first.service.database.prisma.acmeAccount.findFirstOrThrow();

async function prepare(): Promise<void> {
  const { storage, close } = await freshStorage('postgres');
  closings.push(close);
  receiver = await startReceiver();
  closings.push(receiver.close);
  world = await startWorld({ storage, ca: 'Pebble', env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  closings.push(() => world.close());
  first = await start([old], 'the world’s');
  roots = await world.rootCertificates(first.service.rootCertificate);
  client = createClient(world);
  const { record } = await client.addDomain();
  records.push(`docs CNAME ${record.value}.`);
  await world.publish(records);
  await goesLive('docs');
  const answer = await client.call('POST', `${projectPath()}/webhooks`, { url: receiver.url });
  webhook = answer.body as typeof webhook; // our own API's documented shape
  const body = new URLSearchParams({ key: world.apiKey });
  const signedIn = await fetch(`${world.apiUrl}/sign-in`, {
    method: 'POST',
    body,
    redirect: 'manual',
  });
  cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(await page('/projects')).toBe(200);
}

beforeAll(async () => {
  if (!without) await prepare();
});

describe.skipIf(without)('a new key encryption key', { timeout: 300_000 }, () => {
  it('(a), (b): processes with both keys open what each other sealed', async () => {
    await first.close(10_000);
    first = await start([old, newer], 'the world’s');
    second = await start([newer, old], 'others');
    await add('early');
    await goesLive('early');
    for (const signpost of [first, second]) {
      expect((await visit('docs', signpost)).status).toBe(200);
      expect((await visit('early', signpost)).status).toBe(200);
    }
  });

  it('(c): everything is resealed while orders and visitors continue', async () => {
    const stopBoth = visitors(first, second);
    await add('meanwhile');
    const rotated = await rotateKeys([newer, old]);
    expect(rotated.out).toMatch(
      /^re-encrypted: 6 derived secrets, 1 account key, 1 webhook secret and \d certificate keys?\n/,
    );
    await goesLive('meanwhile');
    await stopBoth();
    // The one whose first key is still the old one may have sealed something since.
    const stopSecond = visitors(second);
    await first.close(10_000);
    first = await start([newer, old], 'the world’s');
    expect((await rotateKeys([newer, old])).outcome).toEqual({ kind: 'done' });
    const check = await rotateKeys([newer, old], { check: true });
    expect(check.outcome.kind).toBe('done');
    expect(check.out).toContain('The other keys are no longer needed.');
    await stopSecond();
  });

  it('(d): with only the new key everything still works', async () => {
    const before = await account();
    await Promise.all([first.close(10_000), second.close(10_000)]);
    first = await start([newer], 'the world’s');
    for (const label of ['docs', 'early', 'meanwhile']) {
      expect((await visit(label, first)).status).toBe(200);
    }
    await add('later');
    await goesLive('later');
    expect(await account()).toEqual(before);
    // Sessions stay signed in.
    expect(await page('/projects')).toBe(200);
    // Webhooks keep their secret.
    const delivered = () => receiver.received.map((one) => verified(webhook.secret, one));
    await until('the webhook delivery', async () =>
      delivered().some(({ data }) => JSON.stringify(data).includes(`later.${world.zone}`)),
    );
    // The requested record is still the published one.
    expect((await client.call('DELETE', client.domainPath)).status).toBe(204);
    const { record } = await client.addAgain();
    expect(records[0]).toBe(`docs CNAME ${record.value}.`);
    await goesLive('docs');
  });

  it('with only the old key no process starts, and the error says what to do', async () => {
    await expect(start([old], 'others')).rejects.toThrow(
      /^no key in KEY_ENCRYPTION_KEY opens 6 derived secrets, 1 account key, 1 webhook secret and [4-6] certificate keys of the database\. Append the previous key after a comma/,
    );
  });
});
