import { afterEach, describe, expect, it } from 'vitest';
import { createFeed, type Feed } from '../../src/events/feed.ts';

const LONG_MS = 60_000;
const never = new AbortController().signal;

/** A database that answers each query when the test says so. */
function asked() {
  const questions: {
    ids: readonly string[];
    answer: (numbers: Record<string, bigint>) => void;
    fail: (fault: Error) => void;
  }[] = [];
  let wake = () => {};
  return {
    lastNumbers: (ids: readonly string[]) =>
      new Promise<ReadonlyMap<string, bigint>>((resolve, reject) => {
        questions.push({
          ids,
          answer: (numbers) => resolve(new Map(Object.entries(numbers))),
          fail: reject,
        });
        wake();
      }),
    /** The next query. */
    async question() {
      while (questions.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const [first] = questions.splice(0, 1);
      if (first === undefined) throw new Error('no question');
      return first;
    },
    waiting: questions,
  };
}

let feed: Feed;
const said: string[] = [];
const log = {
  info: (_: unknown, message: string) => void said.push(message),
  warn: (_: unknown, message: string) => void said.push(message),
};
afterEach(() => {
  feed.close();
  said.length = 0;
});

const turns = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('An event feed', () => {
  it('queries once for all followed projects and wakes the readers', async () => {
    const database = asked();
    feed = createFeed({ ...database, log, pollMs: 1 });
    const [a, b, again] = [feed.follow('a', 1n), feed.follow('b', 5n), feed.follow('a', 1n)];
    const changes = Promise.all([a.change(1n, LONG_MS, never), again.change(1n, LONG_MS, never)]);
    const { ids, answer } = await database.question();
    expect([...ids].sort()).toEqual(['a', 'b']);
    answer({ a: 3n, b: 5n });
    await changes;
    expect([a.newest(), again.newest(), b.newest()]).toEqual([3n, 3n, 5n]);
  });

  it('queries nothing while it has no readers', async () => {
    const database = asked();
    feed = createFeed({ ...database, log, pollMs: 1 });
    const first = feed.follow('a', 1n);
    first.end();
    first.end();
    await turns();
    expect(database.waiting).toEqual([]);
    const second = feed.follow('a', 1n);
    const { answer } = await database.question();
    second.end();
    answer({ a: 2n });
    await turns();
    expect(database.waiting).toEqual([]);
  });

  it('ignores an outdated answer that arrives late', async () => {
    const database = asked();
    feed = createFeed({ ...database, log, pollMs: 1 });
    const early = feed.follow('a', 1n);
    const late = await database.question();
    const opened = feed.follow('a', 4n);
    late.answer({ a: 3n });
    await turns();
    expect([early.newest(), opened.newest()]).toEqual([4n, 4n]);
    const change = opened.change(4n, LONG_MS, never);
    (await database.question()).answer({ a: 2n });
    await change;
    expect(opened.newest()).toBe(2n); // queried later: the database was restored
  });

  it('continues after an outage, which it reports once', async () => {
    const database = asked();
    feed = createFeed({ ...database, log, pollMs: 1 });
    const following = feed.follow('a', 1n);
    for (const _ of [1, 2]) (await database.question()).fail(new Error('away'));
    const change = following.change(1n, LONG_MS, never);
    (await database.question()).answer({ a: 2n });
    await change;
    expect(following.newest()).toBe(2n);
    expect(said).toEqual([
      'streams wait: the database does not answer',
      'streams resume: the database answers again',
    ]);
  });

  it('releases readers with events, on timeout and on abort', async () => {
    feed = createFeed({ ...asked(), log, pollMs: LONG_MS });
    const following = feed.follow('a', 1n);
    await following.change(0n, LONG_MS, never);
    await following.change(1n, 1, never);
    await following.change(1n, LONG_MS, AbortSignal.abort());
    const called = new AbortController();
    const waits = following.change(1n, LONG_MS, called.signal);
    called.abort();
    await waits;
    expect(following.newest()).toBe(1n);
  });
});
