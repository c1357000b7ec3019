import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createWatchedDomainStore } from '../../src/db/domains/watched-domains.ts';
import { createEventFeedStore } from '../../src/db/events.ts';
import { type CheckFeed, createCheckFeed } from '../../src/events/check-feed.ts';
import { eventStream } from '../../src/events/event-stream.ts';
import { createFeed, type ReadPage } from '../../src/events/feed.ts';
import { later, missing, noon, unknown } from '../support/builders.ts';
import { readEvents } from '../support/sse.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

let stored: StoredDomains;
let checkFeed: CheckFeed;
let over: AbortController;
const said: string[] = [];
const log = { info: () => {}, warn: (_: unknown, message: string) => void said.push(message) };
/** The error that the database returns while it is unavailable. */
let away: Error | null = null;
let asked = 0;

beforeAll(async () => {
  stored = await openStoredDomains();
});
afterEach(() => {
  over?.abort();
  checkFeed?.close();
  said.length = 0;
});
afterAll(() => stored?.close());

function start() {
  const store = createWatchedDomainStore(stored.database.prisma);
  const lastChecks = async (ids: readonly string[]) => {
    asked += 1;
    if (away !== null) throw away;
    return store.lastChecks(wholeInstallation, ids);
  };
  checkFeed = createCheckFeed({ lastChecks, log, pollMs: 2 });
  over = new AbortController();
  asked = 0;
}

function read({ id, hostname, projectId }: LoadedDomain) {
  const events = createEventFeedStore(stored.database);
  const lastNumbers = (ids: readonly string[]) => events.lastNumbers(wholeInstallation, ids);
  const page: ReadPage = events.page;
  const feed = createFeed({ lastNumbers, log, pollMs: 2 });
  over.signal.addEventListener('abort', feed.close);
  const domain = { id, hostname };
  const range = { projectId, after: 1n, newest: 1n };
  const request = { access: wholeInstallation, domain, checks: true, ...range };
  const isValid = async () => true;
  const checks = { isKeyValid: isValid, isProjectVisible: isValid };
  return readEvents(eventStream({ feed, page, checkFeed }, { ...request, ...checks }, over.signal));
}

describe('The check feed of a watched domain', () => {
  it('sends checks as they happen, beside the numbered events', async () => {
    const domain = await stored.pending('looks.shop.test');
    start();
    const reading = read(domain);
    expect(await reading.next()).toEqual({
      event: 'checked',
      id: '',
      data: {
        hostname: 'looks.shop.test',
        attempts: 0,
        lastCheckedAt: null,
        nextCheckAt: noon.toISOString(),
        changed: false,
      },
    });
    await stored.check(domain, missing, later(noon, 1_000));
    const both = await reading.take(2);
    expect(both.map(({ event }) => event).sort()).toEqual(['checked', 'domain.findings_changed']);
    expect(both.find(({ event }) => event === 'checked')?.data).toMatchObject({
      attempts: 1,
      lastCheckedAt: later(noon, 1_000).toISOString(),
      changed: true,
    });
    expect(reading.lastEventId()).toBe('2');
    await stored.check(await stored.load(domain.id), missing, later(noon, 6_000));
    expect((await reading.next())?.data).toMatchObject({
      attempts: 2,
      lastCheckedAt: later(noon, 6_000).toISOString(),
    });
  });

  it('queries once for all watchers, and stops without watchers', async () => {
    const domain = await stored.pending('looked-at.shop.test');
    start();
    const [one, other] = [read(domain), read(domain)];
    await Promise.all([one.next(), other.next()]);
    const next = Promise.all([one.next(), other.next()]);
    await stored.check(domain, unknown, later(noon, 1_000));
    await next;
    over.abort();
    await Promise.all([one.next(), other.next()]);
    const before = asked;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toBeLessThanOrEqual(before + 1);
  });

  it('sends a check in which only the number changed', async () => {
    const check = { id: 'one', hostname: 'docs.shop.test', lastCheckedAt: noon, nextCheckAt: noon };
    let attempts = 0;
    const lastChecks = async () => {
      attempts += 1;
      return [{ ...check, attempts, version: '7' }];
    };
    checkFeed = createCheckFeed({ lastChecks, log, pollMs: 2 });
    const seen: (number | undefined)[] = [];
    await new Promise<void>((resolve) => {
      const following = checkFeed.follow('one', () => {
        seen.push(following.next()?.attempts);
        if (seen.length === 3) resolve();
      });
    });
    expect(seen).toEqual([1, 2, 3]);
  });

  it('resumes once the database is back', async () => {
    const domain = await stored.pending('looked-away.shop.test');
    start();
    away = new Error('away');
    const reading = read(domain);
    const next = reading.next();
    while (said.length === 0) await new Promise((resolve) => setImmediate(resolve));
    away = null;
    expect((await next)?.event).toBe('checked');
    expect(said).toEqual(['checks are not streamed: the database does not answer']);
  });
});
