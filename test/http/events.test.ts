import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { recordEvents } from '../../src/db/events.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import type { Watching } from '../../src/events/watching.ts';
import { createAuthenticate } from '../../src/http/keys/auth.ts';
import { eventsRoute } from '../../src/http/routes/events.ts';
import { createStreams } from '../../src/http/routes/streams.ts';
import { noon } from '../support/builders.ts';
import { type Reading, readEvents } from '../support/sse.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let t: TestApi;
let streams: ReturnType<typeof createStreams>;
let key: string;
let path: string;
let domains: readonly { readonly id: string; readonly hostname: string }[];
const watched: string[] = [];
const watching: Watching = {
  watch(id) {
    watched.push(id);
    return () => void watched.splice(watched.indexOf(id), 1);
  },
  close: () => undefined,
};
const open = new Set<AbortController>();
/** The error that the database returns while it is unavailable. */
let away: Error | null = null;

beforeAll(async () => {
  t = await startTestApi((service) => {
    const unlessAway =
      <A extends readonly unknown[], R>(act: (...args: A) => Promise<R>) =>
      (...args: A) =>
        away === null ? act(...args) : Promise.reject(away);
    const { lastNumbers, page } = service.events;
    Object.assign(service.events, {
      lastNumbers: unlessAway(lastNumbers),
      page: unlessAway(page),
    });
    streams = createStreams(service, createAuthenticate(service), {
      limits: { total: 4, perKey: 3 },
      pollMs: 5,
      heartbeatMs: 20,
      watching,
      checkFeed: {
        follow: () => expect.fail('unexpected follow of checks'),
        close: () => undefined,
      },
    });
    return [eventsRoute(service, streams.open)];
  });
  key = await t.keyWith('domains:read');
  const project = await createProjectStore(t.prisma).create(wholeInstallation, {
    name: 'P',
    slug: 'p',
    plan: 'pro',
  });
  const projectId = project?.id ?? '';
  path = `/v1/projects/${projectId}/events`;
  const added = [];
  for (const hostname of ['a.shop.test', 'b.shop.test']) {
    added.push(
      await createDomainStore(t.prisma).add(
        wholeInstallation,
        { projectId, hostname, target: hostname },
        noon,
      ),
    );
  }
  domains = added.map((domain) => ({ id: domain?.id ?? '', hostname: domain?.hostname ?? '' }));
});
afterEach(() => {
  for (const one of open) one.abort();
  open.clear();
});
afterAll(async () => {
  streams?.close();
  await t?.close();
});

type Opened = Reading & { readonly headers: Readonly<Record<string, string>>; close(): void };

/** Opens a stream and expects success. */
async function read(lastEventId?: number | string, query = '', token = key): Promise<Opened> {
  const answer = await t.api.handle({
    method: 'GET',
    target: path + query,
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
    readBody: async () => ({ kind: 'too_large' }),
    remoteAddress: '127.0.0.1',
  });
  if (answer.stream === undefined) throw new Error(`${answer.status} ${answer.body}`);
  const over = new AbortController();
  open.add(over);
  const reading = readEvents(answer.stream.open(over.signal));
  return { ...reading, headers: answer.headers, close: () => over.abort() };
}

/** Adds events to a domain, each in its own transaction. */
async function happens(count: number, domain = 0): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const domainId = domains[domain]?.id ?? '';
    const event = { type: 'domain.live', issuer: 'Local', expiresAt: noon, domainId } as const;
    await t.prisma.$transaction((tx) => recordEvents(tx, [event], noon));
  }
}

async function newest(): Promise<number> {
  const { _max } = await t.prisma.event.aggregate({ _max: { number: true } });
  return Number(_max.number);
}

describe('The event stream', () => {
  it('returns every event after the given number, as it was stored', async () => {
    const reading = await read(0);
    expect(reading.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect(reading.headers).not.toHaveProperty('etag');
    expect(await reading.take(2)).toMatchObject(
      domains.map(({ hostname }, index) => ({
        event: 'domain.added',
        id: String(index + 1),
        data: {
          id: index + 1,
          type: 'domain.added',
          hostname,
          at: noon.toISOString(),
          data: { record: expect.objectContaining({ value: hostname }) },
        },
      })),
    );
    expect(await (await read(1)).numbers(1)).toEqual([2]);
  });

  it('words findings as the timeline does', async () => {
    const before = await newest();
    const findings = [{ code: 'plan_required', hostname: 'a.shop.test' }] as const;
    const event = { type: 'domain.drifted', findings, domainId: domains[0]?.id ?? '' } as const;
    await t.prisma.$transaction((tx) => recordEvents(tx, [event], noon));
    const [reported] = await (await read(before)).take(1);
    const words = expect.stringMatching(/\w+ \w+/);
    expect(reported?.data).toMatchObject({
      data: { findings: [{ summary: words, action: words }] },
    });
  });

  it('without a number sends only new events and their starting position', async () => {
    const before = await newest();
    const reading = await read();
    const next = reading.next();
    await happens(1);
    expect((await next)?.id).toBe(String(before + 1));
    const silent = await read();
    const nothing = silent.next();
    silent.close();
    expect(await nothing).toBeNull();
    expect(silent.lastEventId()).toBe(String(before + 1));
  });

  it('resumes where it stopped, through a burst of a thousand events', async () => {
    const before = await newest();
    const first = await read(before);
    const reported = happens(1_000);
    const half = await first.numbers(400);
    first.close();
    await reported;
    const second = await read(half.at(-1));
    const rest = await second.numbers(600);
    expect([...half, ...rest]).toEqual(Array.from({ length: 1_000 }, (_, n) => before + n + 1));
  });

  it('can be limited to one domain and counts as watching it while open', async () => {
    const reading = await read(0, '?hostname=B.Shop.test.');
    expect(watched).toEqual([domains[1]?.id]);
    expect((await reading.take(1))[0]?.data).toMatchObject({ hostname: 'b.shop.test' });
    const next = reading.next();
    await happens(150, 0);
    await happens(1, 1);
    const last = await newest();
    expect((await next)?.id).toBe(String(last));
    reading.close();
    expect(watched).toEqual([]);
    await read(0);
    expect(watched).toEqual([]);
  });

  it('reports a database restore and continues from there', async () => {
    const last = await newest();
    const reading = await read(last + 1_000);
    expect(await reading.next()).toEqual({
      event: 'stream.reset',
      id: String(last),
      data: { newest: last },
    });
    await happens(1);
    expect(await reading.numbers(1)).toEqual([last + 1]);
    // The same for a reader that is connected during the restore.
    await t.prisma.$executeRaw`DELETE FROM recorded_event WHERE number > ${last}`;
    await t.prisma.$executeRaw`UPDATE project SET last_event_number = ${last}`;
    expect((await reading.next())?.event).toBe('stream.reset');
    await happens(1);
    expect(await reading.numbers(1)).toEqual([last + 1]);
  });

  it('continues with the first event that is left, if older ones were deleted', async () => {
    await happens(3);
    const last = await newest();
    await t.prisma.$executeRaw`DELETE FROM recorded_event WHERE number < ${last - 1}`;
    expect(await (await read(0)).numbers(2)).toEqual([last - 1, last]);
    expect(await (await read(last - 2)).numbers(2)).toEqual([last - 1, last]);
  });

  it.each(['', 'abc', '-1', '1.5', '1e3', '0x10', '1, 2', '\u0661', "1' OR 1=1", '9'.repeat(200)])(
    'rejects the Last-Event-ID %j',
    async (lastEventId) => {
      const headers = { 'last-event-id': lastEventId };
      const answer = await callApi(t.api, `GET ${path}`, { key, headers });
      expect(answer).toMatchObject({ status: 400, body: errorBody(400, 'invalid_last_event_id') });
    },
  );

  it('accepts any number, however large', async () => {
    const reading = await read('9'.repeat(40));
    expect((await reading.next())?.event).toBe('stream.reset');
  });

  test.each([
    [404, 'domain_not_found', '?hostname=nobody.shop.test'],
    [404, 'domain_not_found', '?hostname=not%20a%20name'],
    [400, 'invalid_query', '?host=a.shop.test'],
    [400, 'invalid_query', '?checks=tell'],
  ])('answers %i %s to %s', async (status, code, query) => {
    const answer = await callApi(t.api, `GET ${path}${query}`, { key });
    expect(answer).toMatchObject({ status, body: errorBody(status, code) });
  });

  it('does not start for HEAD', async () => {
    for (const _ of Array(10)) {
      expect(await callApi(t.api, `HEAD ${path}`, { key })).toMatchObject({
        status: 200,
        text: '',
      });
    }
  });
});

describe('An open event stream', () => {
  it('sends a comment from time to time', async () => {
    const reading = await read();
    const next = reading.next();
    while (reading.comments.length < 3) await new Promise((resolve) => setImmediate(resolve));
    reading.close();
    expect(await next).toBeNull();
    expect(new Set(reading.comments)).toEqual(new Set(['heartbeat']));
  });

  it.each([
    ['its key expired', { revokedAt: noon }],
    ['its key has other scopes', { scopes: ['pets:read'] }],
  ])('ends when %s', async (_, data) => {
    const token = await t.keyWith('domains:read');
    const reading = await read(undefined, '', token);
    const next = reading.next();
    const [, id = ''] = token.split('_');
    await t.prisma.apiKey.update({ where: { id }, data });
    t.clock.now = new Date(t.clock.now.getTime() + 6_000); // the key cache
    expect(await next).toBeNull();
  });

  it('stays open while the database is unavailable, and loses nothing', async () => {
    const before = await newest();
    const reading = await read(before);
    const next = reading.numbers(2);
    away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    await happens(2);
    for (const _ of Array(10)) await new Promise((resolve) => setTimeout(resolve, 5));
    away = null;
    expect(await next).toEqual([before + 1, before + 2]);
    expect(t.errors).toEqual([]);
  });

  it('counts toward the limit of the key and of the process', async () => {
    const three = [await read(), await read(), await read()];
    const fourth = await callApi(t.api, `GET ${path}`, { key });
    expect(fourth).toMatchObject({ status: 429, body: errorBody(429, 'too_many_streams') });
    expect(fourth.headers['retry-after']).toBe('30');
    const other = await t.keyWith('domains:read');
    await read(undefined, '', other);
    const fifth = await callApi(t.api, `GET ${path}`, { key: other });
    expect(fifth).toMatchObject({ status: 503, body: errorBody(503, 'too_many_connections') });
    three[0]?.close();
    await read();
  });

  it('is rejected while the database is unavailable', async () => {
    away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    const answer = await callApi(t.api, `GET ${path}`, { key });
    away = null;
    expect(answer).toMatchObject({ status: 503, body: errorBody(503, 'unavailable') });
  });
});
