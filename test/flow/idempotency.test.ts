/** Repeated requests: after a lost response, at another process, and after a crash. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { type Beside, startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

const closings = closeAfterEach();

type Answer = {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
  readonly headers: Headers;
};

/** `post('/v1/pets', {…}, key)` at one address of the service. */
function poster({ apiKey }: World, url: string) {
  return async (path: string, body: unknown, key: string): Promise<Answer> => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': `"${key}"`,
      },
      body: JSON.stringify(body),
    });
    const { status, headers } = answer;
    const replayed = headers.has('idempotency-replayed');
    return { status, headers, replayed, text: await answer.text() };
  };
}

const idOf = ({ text }: Answer) => (JSON.parse(text) as { id: string }).id;

describe.each(storagesOfRun('postgres_redis'))('on $name, every POST', ({ name, available }) => {
  it.skipIf(!available)(
    'takes effect once and returns the same response each time',
    async () => {
      const { storage, close } = await freshStorage(name);
      closings.push(close);
      const { world, client, close: stop } = await startService({ storage, ca: 'local authority' });
      closings.push(stop);
      const post = poster(world, world.apiUrl);
      const twice = async (path: string, body: unknown): Promise<Answer> => {
        const key = randomUUID();
        const first = await post(path, body, key);
        expect(first.replayed).toBe(false);
        const second = await post(path, body, key);
        expect(second).toMatchObject({ replayed: true, status: first.status });
        expect(second.headers.get('location')).toBe(first.headers.get('location'));
        if (!path.startsWith('/v1/keys')) expect(second.text).toBe(first.text);
        else expect(JSON.parse(second.text)).toEqual({ ...JSON.parse(first.text), key: null });
        return first;
      };

      const pet = await twice('/v1/pets', { name: 'Rex', categoryId: 1 });
      expect(pet.status).toBe(201);
      expect((await client.call('GET', '/v1/pets')).body).toEqual([JSON.parse(pet.text)]);

      const project = await twice('/v1/projects', { name: 'P', slug: 'p', plan: 'pro' });
      const path = `/v1/projects/${idOf(project)}`;
      await twice(`${path}/deploys`, { status: 'succeeded', upstream: world.upstream });
      const added = await twice(`${path}/domains`, { hostname: world.hostname });
      expect(added.status).toBe(201);
      // The job was woken: the DNS is checked.
      const domain = `${path}/domains/${world.hostname}`;
      await until('a check', async () => {
        const { body } = await client.call('GET', domain);
        return (body as { checks: { attempts: number } }).checks.attempts > 0;
      });
      expect((await twice(`${domain}/verify`, {})).status).toBe(202);
      const again = await twice(`${path}/domains`, { hostname: world.hostname });
      expect(again).toMatchObject({ status: 409 });

      const key = await twice('/v1/keys', { name: 'K', scopes: ['pets:read'] });
      expect(key.status).toBe(201);
      const rotated = await twice(`/v1/keys/${idOf(key)}/rotate`, { graceSeconds: 60 });
      expect(rotated.status).toBe(201);
    },
    180_000,
  );
});

const HELD = 7_367_004; // any number except the service's own advisory locks

/** The points at which the test's lock can block a transaction, and how they are detected. */
const moments = {
  'after its effect': {
    prepare: '',
    hold: 'BEGIN; LOCK TABLE idempotent_answer IN SHARE MODE',
    letGo: 'ROLLBACK',
    isHeld: `SELECT 1 FROM pg_locks WHERE relation = 'idempotent_answer'::regclass AND NOT granted`,
  },
  'in its commit': {
    prepare: `
      CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock_shared(${HELD}); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER held AFTER INSERT ON idempotent_answer
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION held()`,
    hold: `SELECT pg_advisory_lock(${HELD})`,
    letGo: `SELECT pg_advisory_unlock(${HELD})`,
    isHeld: `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${HELD} AND NOT granted`,
  },
} as const;

const without = lacks('postgres', 'requests that are sent again to another process');

describe.skipIf(without)('a repeated POST', () => {
  it('is rejected by another process during the first one, and replayed by it afterwards', async () => {
    const { here, there, hold } = await startTwo(startBeside);
    const held = await hold('after its effect');
    const key = randomUUID();
    const first = here.post('/v1/pets', { name: 'Rex', categoryId: 1 }, key);
    await held.reached();
    const meanwhile = await there.post('/v1/pets', { name: 'Rex', categoryId: 1 }, key);
    expect(meanwhile).toMatchObject({ status: 409 });
    expect(meanwhile.text).toContain('"idempotency_key_in_use"');
    expect(meanwhile.headers.get('retry-after')).toBe('1');
    await held.letGo();
    const { status, text } = await first;
    expect(status).toBe(201);
    const again = await there.post('/v1/pets', { name: 'Rex', categoryId: 1 }, key);
    expect(again).toMatchObject({ status: 201, text, replayed: true });
    const other = await there.post('/v1/pets', { name: 'Max', categoryId: 1 }, key);
    expect(other.status).toBe(422);
  }, 180_000);

  it.each([
    ['after its effect', 'has left nothing, and runs then', false],
    ['in its commit', 'is answered as it would have been', true],
  ] as const)(
    'works for a process killed %s %s',
    async (moment, _, replayed) => {
      const { world, here, there, hold, count } = await startTwo(startProcess);
      const project = await here.post('/v1/projects', { name: 'P', slug: 'p', plan: 'pro' }, 'p');
      const path = `/v1/projects/${idOf(project)}`;
      const deploy = { status: 'succeeded', upstream: world.upstream };
      await here.post(`${path}/deploys`, deploy, 'd');
      const held = await hold(moment);
      const key = randomUUID();
      const add = (post: typeof here.post) =>
        post(`${path}/domains`, { hostname: world.hostname }, key);
      const lost = add(here.post).catch(() => 'lost');
      await held.reached();
      // Uncommitted, so invisible to others and the queue.
      expect([await count('domain'), await count('bullmq.job')]).toEqual([0, 0]);
      await here.process.kill();
      expect(await lost).toBe('lost');
      await held.letGo();
      const answer = await until('an answer', async () => {
        const each = await add(there.post);
        return each.status !== 409 && each; // PostgreSQL has not noticed yet that the process is gone
      });
      expect(answer).toMatchObject({ status: 201, replayed });
      expect([await count('domain'), await count('event')]).toEqual([1, 1]);
      // The actions after the commit died with the process; the reconciler makes up for them.
      expect(await count('bullmq.job')).toBe(replayed ? 0 : 1);
      closings.push((await startBeside({ ...world.env, ROLE: 'worker' })).stop);
      await until('a check', () => count('domain', 'attempts > 0'));
    },
    180_000,
  );
});

type Start<P> = (env: World['env']) => Promise<P>;

/** Two APIs on one PostgreSQL; `start` starts the first. */
async function startTwo<P extends Beside>(start: Start<P>) {
  const { storage, close } = await freshStorage('postgres');
  closings.push(close);
  const world = await startWorld({ storage, ca: 'local authority' });
  closings.push(world.close);
  const [here, there] = [await startApi(world, start), await startApi(world, startBeside)];
  const url = world.env['DATABASE_URL'];
  const database = new pg.Client(url);
  const blocker = new pg.Client(url);
  for (const client of [database, blocker]) {
    await client.connect();
    closings.push(() => client.end());
  }
  return {
    world,
    here,
    there,
    async count(table: string, where = 'true'): Promise<number> {
      const counted = `SELECT count(*)::int AS rows FROM ${table} WHERE ${where}`;
      return (await database.query<{ rows: number }>(counted)).rows[0]?.rows ?? 0;
    },
    async hold(moment: keyof typeof moments) {
      const { prepare, hold, letGo, isHeld } = moments[moment];
      await database.query(prepare);
      await blocker.query(hold);
      return {
        reached: () => until(moment, async () => (await database.query(isHeld)).rows.length > 0),
        letGo: () => blocker.query(letGo),
      };
    },
  };
}

async function startApi<P extends Beside>(world: World, start: Start<P>) {
  const port = await freePort();
  const process = await start({ ...world.env, PORT: String(port), ROLE: 'api' });
  closings.push(process.stop);
  return { post: poster(world, `http://127.0.0.1:${port}`), process };
}
