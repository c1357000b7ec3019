/** An account at its limits, whose requests come to two processes at once. */
import { describe, expect, it } from 'vitest';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld } from '../support/world.ts';

const closings = closeAfterEach();

const limits = { domains: 7, additionsPerHour: 10, projects: 4, keys: 5, webhooks: 3 } as const;
const AT_ONCE = 24;

type Answer = { readonly status: number; readonly body: unknown };

/** Two APIs on one PostgreSQL, one of them a process of its own, and an account with the limits above. */
async function startTwo() {
  const { storage, close } = await freshStorage('postgres');
  closings.push(close);
  const world = await startWorld({ storage, ca: 'local authority' });
  closings.push(world.close);
  const urls: string[] = [];
  for (const start of [startProcess, startBeside]) {
    const port = await freePort();
    const started = await start({ ...world.env, PORT: String(port), ROLE: 'api' });
    closings.push(started.stop);
    urls.push(`http://127.0.0.1:${port}`);
  }

  async function call(at: number, line: string, key: string, json?: unknown): Promise<Answer> {
    const [method = '', path = ''] = line.split(' ');
    const answer = await fetch(`${urls[at % urls.length]}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  }
  const made = async (line: string, json: unknown, key = world.apiKey) => {
    const { status, body } = await call(0, line, key, json);
    expect(status).toBe(201);
    return body as { id: string; key: string };
  };
  const account = await made('POST /v1/accounts', { name: 'Shop', limits });
  const minted = { name: 'k', scopes: ['admin'], accountId: account.id };
  const { key } = await made('POST /v1/keys', minted);
  const project = await made('POST /v1/projects', { name: 'P', slug: 'p', plan: 'pro' }, key);
  const path = `/v1/projects/${project.id}`;
  await made(`POST ${path}/deploys`, { status: 'succeeded', upstream: world.upstream }, key);
  return {
    path,
    call: (at: number, line: string, json?: unknown) => call(at, line, key, json),
    usage: async () => (await call(1, `GET /v1/accounts/${account.id}/usage`, key)).body,
  };
}

/** How often each came: `201`, or the code of a refusal. */
function tally(answers: readonly Answer[]): Readonly<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const { status, body } of answers) {
    const what = status < 400 ? String(status) : (body as { code: string }).code;
    counted[what] = (counted[what] ?? 0) + 1;
  }
  return counted;
}

const without = lacks('postgres', 'limits of an account across processes');

describe.skipIf(without)('requests of an account that come to two processes at once', () => {
  it('are let in to its limits, and not one further', async () => {
    const { path, call, usage } = await startTwo();
    const burst = async (line: string, json: (n: number) => unknown) =>
      tally(await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => call(n, line, json(n)))));
    const exactly = (room: number) => ({ 201: room, account_limit: AT_ONCE - room });
    const domain = (n: number) => ({ hostname: `shop-${n}.example.com` });
    expect(await burst(`POST ${path}/domains`, domain)).toEqual(exactly(limits.domains));
    const project = (n: number) => ({ name: 'P', slug: `p-${n}` });
    expect(await burst('POST /v1/projects', project)).toEqual(exactly(limits.projects - 1));
    const key = () => ({ name: 'K', scopes: ['domains:read'] });
    expect(await burst('POST /v1/keys', key)).toEqual(exactly(limits.keys - 1));
    const webhook = () => ({ url: 'https://shop.example/hook' });
    expect(await burst(`POST ${path}/webhooks`, webhook)).toEqual(exactly(limits.webhooks));

    // Removals make room for domains, and none in this hour.
    const listed = (await call(0, `GET ${path}/domains`)).body as { hostname: string }[];
    const names = listed.slice(0, 5).map(({ hostname }) => hostname);
    const mixed = await Promise.all([
      ...names.map((name, n) => call(n, `DELETE ${path}/domains/${name}`)),
      ...Array.from({ length: AT_ONCE }, (_, n) =>
        call(n, `POST ${path}/domains`, { hostname: `later-${n}.example.com` }),
      ),
    ]);
    expect(tally(mixed)[204]).toBe(names.length);
    const rest = await burst(`POST ${path}/domains`, (n) => ({
      hostname: `last-${n}.example.com`,
    }));
    expect((tally(mixed)[201] ?? 0) + (rest[201] ?? 0)).toBe(
      limits.additionsPerHour - limits.domains,
    );
    expect(await usage()).toMatchObject({
      domains: { used: limits.additionsPerHour - names.length },
      additionsPerHour: { used: limits.additionsPerHour, nextAt: expect.any(String) },
      projects: { used: limits.projects },
      keys: { used: limits.keys },
      webhooks: { used: limits.webhooks },
    });
  }, 180_000);
});
