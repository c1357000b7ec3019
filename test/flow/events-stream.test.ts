/** A project's event stream across processes that write, stop and crash. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/engine/client.ts';
import { type Beside, startBeside } from '../support/beside.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { type Reading, readEvents, textOf } from '../support/sse.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

const closings = closeAfterEach();

type Stream = Reading & { readonly over: Promise<unknown>; close(): void };

async function openStream({ apiKey }: World, url: string, lastEventId?: number): Promise<Stream> {
  const stop = new AbortController();
  const response = await fetch(url, {
    signal: stop.signal,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  let ended = () => {};
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });
  async function* text() {
    try {
      yield* textOf(response.body);
    } finally {
      ended();
    }
  }
  return { ...readEvents(text()), over, close: () => stop.abort() };
}

/** Longer than any step, even on a busy machine. */
const PATIENCE_MS = 150_000;

/** Reads up to an event of this type and returns numbers and types, or rejects with them. */
async function readTo(stream: Reading, type: string): Promise<(readonly [number, string])[]> {
  const read: (readonly [number, string])[] = [];
  const late = new Promise<never>((_, reject) => {
    const give = () =>
      reject(new Error(`timed out waiting for ${type}; read ${JSON.stringify(read)}`));
    setTimeout(give, PATIENCE_MS).unref();
  });
  for (;;) {
    const event = await Promise.race([stream.next(), late]);
    if (event === null) throw new Error(`the stream ended before ${type}`);
    read.push([Number(event.id), event.event]);
    if (event.event === type) return read;
  }
}

async function rest(stream: Reading): Promise<(readonly [number, string])[]> {
  const event = await stream.next().catch(() => null);
  if (event === null) return [];
  return [[Number(event.id), event.event], ...(await rest(stream))];
}

const servers = storagesOfRun('postgres').filter(({ name }) => name !== 'embedded');

describe.each(servers)('two API processes and a worker on $name', ({ name, available }) => {
  it.skipIf(!available)(
    'stream every event once and in order, even after crashes of the writer',
    { timeout: 400_000 },
    async () => {
      const fresh = await freshStorage(name);
      closings.push(() => fresh.close());
      const world = await startWorld({ storage: fresh.storage, ca: 'local authority' });
      closings.push(() => world.close());
      const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
      closings.push(() => database.close());
      const run = async <P extends Beside>(
        start: (env: World['env']) => Promise<P>,
        env: World['env'],
      ): Promise<P> => {
        const started = await start({ ...world.env, ...env });
        closings.push(() => started.stop());
        return started;
      };
      // No edge runs here, so its port is free for the second process.
      const port = String(world.edgeHttpPort);
      const otherUrl = `http://127.0.0.1:${port}`;
      const dying = await run(startProcess, { ROLE: 'api' });
      const writing = await run(startBeside, { ROLE: 'api', PORT: port });
      await run(startBeside, { ROLE: 'worker' });

      const client = createClient({ ...world, apiUrl: otherUrl });
      const { record } = await client.addDomain();
      const path = client.domainPath.replace(/\/domains\/.*/, '/events');
      const first = await openStream(world, `${world.apiUrl}${path}`, 0);
      const read = await readTo(first, 'domain.findings_changed');

      // Cut database connections do not interrupt the stream.
      await database.prisma.$queryRaw`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      await world.publish([`docs CNAME ${record.value}.`]);
      read.push(...(await readTo(first, 'domain.verified')));

      await dying.kill();
      read.push(...(await rest(first))); // what it had sent by then
      const second = await openStream(world, `${otherUrl}${path}`, read.at(-1)?.[0] ?? 0);
      const isLive = read.some(([, type]) => type === 'domain.live');
      read.push(...(isLive ? [] : await readTo(second, 'domain.live')));

      const again = await run(startBeside, { ROLE: 'api' });
      const third = await openStream(world, `${world.apiUrl}${path}`, read.at(-1)?.[0] ?? 0);
      await client.call('DELETE', client.domainPath);
      read.push(...(await readTo(third, 'domain.removed')));

      const rows = await database.prisma.event.findMany({ orderBy: { number: 'asc' } });
      expect(read).toEqual(rows.map(({ number, type }) => [Number(number), type]));
      expect(read.map(([number]) => number)).toEqual(read.map((_, index) => index + 1));

      expect((await second.next())?.event).toBe('domain.removed');

      // Streams end promptly when their process stops.
      const [thirdEnded, secondEnded] = [third.next(), second.next()];
      expect(await again.stop()).toBe(0);
      expect(await thirdEnded).toBeNull(); // at the deadline it would be cut off, and `next` reject
      await writing.stop();
      expect(await secondEnded).toBeNull();
    },
  );
});

// PostgreSQL and embedded storage share the queue implementation.
describe.each(storagesOfRun('postgres_redis').filter(({ name }) => name !== 'postgres'))(
  'a pending domain on $name',
  { concurrent: true }, // both mostly wait
  ({ name, available }) => {
    it.skipIf(!available)(
      'is checked every few seconds while it is watched, and seldom otherwise',
      // Seconds, except on a busy machine. Three checks at the longest interval would take 100 s.
      { timeout: 400_000 },
      async ({ onTestFinished }) => {
        const fresh = await freshStorage(name);
        onTestFinished(() => fresh.close());
        // An eighth of all times: 0.6 s between checks while watched, and up to 37 s otherwise.
        const env = { VERIFY_WINDOW: '6h', TIME_SCALE: '8' };
        const service = await startService({ storage: fresh.storage, ca: 'local authority', env });
        onTestFinished(() => service.close());
        const { world, client, signpost } = service;
        const { prisma } = signpost.service.database;
        await client.addDomain();
        const checks = async () => (await client.domain()).checks.attempts;
        const waitMs = async () => {
          const { nextCheckAt, lastCheckedAt } = await prisma.domain.findFirstOrThrow();
          return (nextCheckAt?.getTime() ?? 0) - (lastCheckedAt?.getTime() ?? 0);
        };
        // As if added hours ago, so that its interval is the longest.
        const hoursAgo = new Date(Date.now() - 3 * 3_600_000);
        await prisma.domain.updateMany({ data: { pendingSince: hoursAgo } });
        await until(
          'its next check is over half a minute away',
          async () => (await waitMs()) > 30_000,
        );
        const before = await checks();

        const path = client.domainPath.replace(/\/domains\/.*/, '/events');
        const stream = await openStream(world, `${world.apiUrl}${path}?hostname=${world.hostname}`);
        await until('three checks', async () => (await checks()) >= before + 3);
        await until('its next check is near', async () => (await waitMs()) < 1_000);

        stream.close();
        // As half a minute later.
        await prisma.domain.updateMany({ data: { watchedUntil: new Date() } });
        await until('seldom checked again', async () => (await waitMs()) > 30_000);
      },
    );
  },
);
