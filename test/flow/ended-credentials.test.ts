/** Two API processes share what ends a session or a key, and the limits of the sign-in. */
import { beforeAll, describe, expect, it } from 'vitest';
import { mintKey } from '../../src/config/api-key.ts';
import { type Beside, startBeside } from '../support/beside.ts';
import { createClient } from '../support/client.ts';
import { closeAfterAll } from '../support/closings.ts';
import { type Reading, readEvents, textOf } from '../support/sse.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

const servers = storagesOfRun('postgres').filter(({ name }) => name !== 'embedded');

/** Below the 15 seconds of a heartbeat; 5 are promised, and a busy machine takes longer. */
const DEADLINE_MS = 12_000;

describe.each(servers)('Two API processes on $name', ({ name, available }) => {
  const closings = closeAfterAll();
  let world: World;
  let other: Beside;
  let otherUrl: string;
  let events: string;

  beforeAll(async () => {
    if (!available) return;
    const fresh = await freshStorage(name);
    closings.push(fresh.close);
    world = await startWorld({ storage: fresh.storage, ca: 'local authority' });
    closings.push(() => world.close());
    otherUrl = `http://127.0.0.1:${world.edgeHttpPort}`; // no edge runs here
    const env = { ...world.env, ROLE: 'api', TRUSTED_PROXIES: '127.0.0.1' };
    const here = await startBeside(env);
    other = await startBeside({ ...env, PORT: String(world.edgeHttpPort) });
    closings.push(here.stop, () => other.stop());
    const client = createClient(world);
    await client.addDomain();
    events = client.domainPath.replace(/\/domains\/.*/, '/events');
  });

  async function api<T>(method: string, path: string, json?: object, key = world.apiKey) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = json === undefined ? null : JSON.stringify(json);
    const response = await fetch(world.apiUrl + path, { method, headers, body });
    return { status: response.status, body: (await response.json().catch(() => null)) as T };
  }

  type Made = { readonly id: string; readonly key: string };
  const makeKey = async (scopes: readonly string[], maker?: string) =>
    (await api<Made>('POST', '/v1/keys', { name: 'ends', scopes }, maker)).body;

  async function signIn(key: string) {
    const body = new URLSearchParams({ key });
    const answer = await fetch(`${otherUrl}/sign-in`, { method: 'POST', body, redirect: 'manual' });
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    const show = (url: string, path: string) =>
      fetch(url + path, { headers: { cookie }, redirect: 'manual' });
    return { cookie, show };
  }

  async function stream(path: string, headers: Record<string, string>): Promise<Reading> {
    const response = await fetch(otherUrl + path, { headers });
    expect(response.status).toBe(200);
    return readEvents(textOf(response.body));
  }

  /** The stream is read to its end. */
  async function isOver(reading: Reading): Promise<void> {
    let isEnded = false;
    void reading.next().then((event) => {
      isEnded = event === null;
    });
    await until('the stream has ended', async () => isEnded, DEADLINE_MS);
  }

  const isSignedOut = (show: Awaited<ReturnType<typeof signIn>>['show']) =>
    until(
      'both refuse the cookie',
      async () => {
        const answers = await Promise.all(
          [world.apiUrl, otherUrl].map((url) => show(url, '/projects')),
        );
        return answers.every(({ status }) => status === 303);
      },
      DEADLINE_MS,
    );

  it.skipIf(!available)('end the session and the streams of a revoked key', async () => {
    const { id, key } = await makeKey(['domains:read']);
    const { cookie, show } = await signIn(key);
    expect((await show(world.apiUrl, '/projects')).status).toBe(200);
    const ofKey = await stream(events, { authorization: `Bearer ${key}` });
    const ofPage = await stream(events.replace('/v1', ''), { cookie });
    expect((await api('DELETE', `/v1/keys/${id}`)).status).toBe(204);
    await Promise.all([isOver(ofKey), isOver(ofPage), isSignedOut(show)]);
  });

  it.skipIf(!available)('end a session that an operator ends, and its streams', async () => {
    const { id, key } = await makeKey(['domains:read']);
    const { cookie, show } = await signIn(key);
    const ofPage = await stream(events.replace('/v1', ''), { cookie });
    type Session = { readonly id: string; readonly keyId: string };
    const { body } = await api<readonly Session[]>('GET', '/v1/sessions');
    const session = body.find(({ keyId }) => keyId === id);
    expect((await api('DELETE', `/v1/sessions/${session?.id}`)).status).toBe(204);
    await Promise.all([isOver(ofPage), isSignedOut(show)]);
    expect((await api('GET', '/v1/keys/self', undefined, key)).status).toBe(200);
  });

  it.skipIf(!available)('count wrong keys at the sign-in together', async () => {
    const attempt = async (url: string, key: string, address: string) => {
      const body = new URLSearchParams({ key });
      const headers = { 'x-forwarded-for': address };
      const sent = { method: 'POST', body, headers, redirect: 'manual' } as const;
      return (await fetch(`${url}/sign-in`, sent)).status;
    };
    const refusedAt = async (url: string, key: string, address: string) => {
      let tries = 0;
      await until('the sign-in is refused', async () => {
        tries += 1;
        return (await attempt(url, key, address)) === 429;
      });
      return tries;
    };
    const { token } = mintKey();
    for (const _ of Array(11)) {
      expect(await attempt(world.apiUrl, token, '198.51.100.1')).toBe(401);
    }
    // Alone, it would refuse the 12th try.
    expect(await refusedAt(otherUrl, token, '198.51.100.2')).toBeLessThan(12);
    for (const _ of Array(20)) {
      expect(await attempt(world.apiUrl, mintKey().token, '198.51.100.3')).toBe(401);
    }
    expect(await refusedAt(otherUrl, mintKey().token, '198.51.100.3')).toBeLessThan(20);
    expect(await attempt(otherUrl, world.apiKey, '198.51.100.4')).toBe(303);
  });

  it.skipIf(!available)('refuse a copied cookie after signing out', async () => {
    const { key } = await makeKey(['domains:read']);
    const { cookie, show } = await signIn(key);
    const page = await (await show(world.apiUrl, '/projects')).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const body = new URLSearchParams({ csrf });
    const asked = { method: 'POST', body, headers: { cookie }, redirect: 'manual' } as const;
    expect((await fetch(`${world.apiUrl}/sign-out`, asked)).status).toBe(303);
    await isSignedOut(show);
  });
});
