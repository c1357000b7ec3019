import { describe, expect, it, vi } from 'vitest';
import { createReachability } from '../../src/dns/servers/reachability.ts';
import type { ThrottleOptions } from '../../src/dns/servers/throttle.ts';
import {
  defaultLimits,
  type QueryBudget,
  startBudget,
  unlimited,
} from '../../src/dns/wire/budget.ts';
import { fakeTimersInEachTest } from './fake-timers.ts';
import { answered, playThrottle } from './throttle-server.ts';

const timeout = { kind: 'timeout' } as const;

fakeTimersInEachTest();

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** `silence` sends one query that its server does not answer. */
function play(options: ThrottleOptions = {}) {
  const played = playThrottle(options);
  async function silence(name: string, address: string, ms = 3_000) {
    played.ask(name, address);
    await pass(ms);
    played.wire.end(name, timeout);
    await pass(0);
  }
  return { ...played, silence };
}

describe('a server', () => {
  it('has two concurrent queries, also after a pause', async () => {
    const { wire, ask } = playThrottle();
    for (const name of ['a', 'b']) ask(name, '198.51.100.1');
    await pass(0);
    wire.end('a', answered);
    await pass(0);
    for (const name of ['c', 'd']) ask(name, '198.51.100.1');
    await pass(0);
    expect(wire.sent).toHaveLength(3);
    wire.end('b', answered);
    await pass(0);
    expect(wire.sent).toHaveLength(4);
  });
});

describe('a server that many checks of one account wait for', () => {
  it('is next queried for another account', async () => {
    const { wire, ask } = playThrottle();
    const names = Array.from({ length: 20 }, (_, nth) => `many-${nth}`);
    for (const name of names) ask(name, '198.51.100.1', startBudget(defaultLimits, 'many'));
    ask('one', '198.51.100.1', startBudget(defaultLimits, 'one'));
    await pass(0);
    for (const name of names.slice(0, 2)) {
      wire.end(name, answered);
      await pass(0);
    }
    expect(wire.sent.slice(2)).toEqual(['many-2@198.51.100.1', 'one@198.51.100.1']);
    await pass(defaultLimits.ms); // the others' budgets end
    for (const name of ['many-2', 'one']) wire.end(name, answered);
    await pass(0);
  });
});

describe('a spent budget', () => {
  it.each<[string, Partial<QueryBudget>]>([
    ['of queries', { questionsLeft: 0 }],
    ['of bytes', { bytesLeft: 0 }],
    ['of time', { deadline: Number.NEGATIVE_INFINITY }],
  ])('%s: not queried', async (_what, spent) => {
    const { wire, ask, ended } = play();
    ask('q', '198.51.100.1', { ...unlimited, ...spent });
    await pass(0);
    expect(ended).toEqual({ q: 'not_asked' });
    expect(wire.sent).toEqual([]);
  });

  it('is detected before any waiting', async () => {
    const { ask, ended } = playThrottle();
    for (const name of ['a', 'b']) ask(name, '198.51.100.1');
    ask('c', '198.51.100.1', { ...unlimited, questionsLeft: 0 });
    await pass(0);
    expect(ended).toEqual({ c: 'not_asked' });
  });

  it('is detected while the query waits', async () => {
    const { wire, ask, ended } = play();
    const budget = startBudget(defaultLimits);
    ask('a', '198.51.100.1');
    ask('b', '198.51.100.1');
    ask('c', '198.51.100.1', budget);
    await pass(0);
    budget.questionsLeft = 0;
    wire.end('a', answered);
    await pass(0);
    expect(ended).toEqual({ a: 'malformed', c: 'not_asked' });
  });
});

describe('a silent server', () => {
  const address = '198.51.100.1';

  it('is paused for 30 s after three timeouts in a row; waiting callers time out at once', async () => {
    const { wire, ask, ended, silence } = play();
    await silence('a', address);
    await silence('b', address);
    for (const name of ['c', 'd', 'e', 'f']) ask(name, address);
    await pass(3_000);
    wire.end('c', timeout);
    await pass(0);
    expect(ended).toMatchObject({ c: 'timeout', e: 'timeout', f: 'timeout' });
    await pass(29_999);
    ask('g', address);
    await pass(0);
    expect(ended).toMatchObject({ g: 'timeout' });
    expect(wire.sent).toHaveLength(4);
  });

  it('receives one probe after that, and all queries when it answers', async () => {
    const { wire, ask, ended, silence } = play();
    for (const name of ['a', 'b', 'c']) await silence(name, address);
    await pass(30_000);
    for (const name of ['probe', 'd', 'e']) ask(name, address);
    await pass(0);
    expect(wire.sent.slice(3)).toEqual([`probe@${address}`]);
    expect(ended).toMatchObject({ d: 'timeout', e: 'timeout' });
    wire.end('probe', { kind: 'malformed' });
    await pass(0);
    for (const name of ['f', 'g']) ask(name, address);
    await pass(0);
    expect(wire.sent.slice(4)).toEqual([`f@${address}`, `g@${address}`]);
  });

  it('does not delay callers behind queries in flight', async () => {
    const { wire, ask, ended, silence } = play();
    for (const name of ['a', 'b']) await silence(name, address);
    for (const name of ['c', 'endless']) ask(name, address);
    await pass(3_000);
    wire.end('c', timeout);
    await pass(30_000);
    ask('probe', address);
    await pass(0);
    ask('d', address);
    await pass(0);
    expect(ended).toMatchObject({ d: 'timeout' });
    expect(wire.sent.at(-1)).toBe(`probe@${address}`);
  });

  it('is paused for twice as long when it is silent again', async () => {
    const { wire, ask, silence } = play();
    for (const name of ['a', 'b', 'c']) await silence(name, address);
    await pass(30_000);
    await silence('probe', address);
    await pass(59_999);
    ask('d', address);
    await pass(1);
    ask('e', address);
    await pass(0);
    expect(wire.sent.slice(4)).toEqual([`e@${address}`]);
  });

  it('gets another probe when the first was not sent', async () => {
    const { wire, ask, ended, silence } = play();
    for (const name of ['a', 'b', 'c']) await silence(name, address);
    await pass(30_000);
    ask('unaskable', address);
    await pass(0);
    wire.end('unaskable', new RangeError('no name'));
    await pass(0);
    expect(ended).toMatchObject({ unaskable: 'rejected' });
    ask('probe', address);
    await pass(0);
    expect(wire.sent.at(-1)).toBe(`probe@${address}`);
  });

  it('is not blamed when the wait was cut short by a missing route or a spent budget', async () => {
    const { wire, ask, silence } = play();
    for (const name of ['a', 'b', 'c', 'd']) await silence(name, address, 999);
    ask('e', address);
    await pass(0);
    expect(wire.sent).toHaveLength(5);
  });

  it('is not blamed while port 53 is blocked, which the throttle detects', async () => {
    const reachability = createReachability();
    const { wire, ask, silence } = play({ reachability });
    for (const n of [1, 2, 3]) await silence(`q${n}`, `198.51.100.${n}`);
    expect(reachability.isBlocked()).toBe(true);
    for (const name of ['a', 'b', 'c', 'd']) await silence(name, address);
    ask('e', address);
    await pass(0);
    expect(wire.sent.at(-1)).toBe(`e@${address}`);
    wire.end('e', answered);
    await pass(0);
    expect(reachability.isBlocked()).toBe(false);
  });

  it('is no evidence about port 53 when the budget ended first', async () => {
    const note = vi.fn();
    const { wire, ask } = play({ reachability: { note, isBlocked: () => false } });
    ask('a', address, startBudget({ ...defaultLimits, ms: 100 }));
    await pass(100);
    wire.end('a', timeout);
    await pass(0);
    expect(note).not.toHaveBeenCalled();
  });

  it('for one zone is still queried for others', async () => {
    const { wire, ask, silence } = play();
    for (const name of ['a', 'b', 'c']) await silence(name, address);
    ask('d', address, unlimited, { zone: 'other.test' });
    await pass(0);
    expect(wire.sent.at(-1)).toBe(`d@${address}`);
  });

  it('is not assumed from a truncated response', async () => {
    const note = vi.fn();
    const { wire, ask } = play({ reachability: { note, isBlocked: () => false } });
    for (const name of ['a', 'b', 'c', 'd']) {
      ask(name, address);
      await pass(3_000);
      wire.end(name, { kind: 'timeout', responded: true });
      await pass(0);
    }
    expect(wire.sent).toHaveLength(4);
    expect(note.mock.calls.every(([, answered]) => answered)).toBe(true);
  });

  it('is not assumed or reported without a route to it', async () => {
    const note = vi.fn();
    const { wire, ask, ended } = play({ reachability: { note, isBlocked: () => false } });
    for (const name of ['a', 'b', 'c', 'd']) {
      ask(name, address);
      await pass(3_000);
      wire.end(name, { kind: 'not_asked' });
      await pass(0);
    }
    expect(ended).toEqual({ a: 'not_asked', b: 'not_asked', c: 'not_asked', d: 'not_asked' });
    expect(note).not.toHaveBeenCalled();
  });

  it('is reported by name, as it can have several addresses', async () => {
    const note = vi.fn();
    const { wire, ask } = play({ reachability: { note, isBlocked: () => false } });
    for (const at of [address, '2001:db8::1']) {
      ask('a', at, unlimited, { serverName: 'ns1.shop.test' });
      await pass(3_000);
      wire.end('a', timeout);
      await pass(0);
    }
    expect(note.mock.calls).toEqual([
      ['ns1.shop.test', false],
      ['ns1.shop.test', false],
    ]);
  });
});

describe("a caller that waits for an operator's rate", () => {
  it('holds no slot at a server', async () => {
    const address = '198.51.100.1';
    const { wire, ask } = play({ rate: { perSecond: 1, burst: 1 } });
    for (const name of ['a', 'b', 'c']) ask(name, address);
    ask('d', address, unlimited, { operator: 'other.test' });
    await pass(0);
    expect(wire.sent).toEqual([`a@${address}`, `d@${address}`]);
    for (const name of ['a', 'd']) wire.end(name, answered);
    await pass(2_000);
  });
});
