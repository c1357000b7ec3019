import { describe, expect, it, vi } from 'vitest';
import { operatorOf } from '../../src/dns/servers/throttle.ts';
import { defaultLimits, startBudget, unlimited } from '../../src/dns/wire/budget.ts';
import { fakeTimersInEachTest } from './fake-timers.ts';
import { answered, playThrottle } from './throttle-server.ts';

fakeTimersInEachTest();

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('an operator', () => {
  const rate = { perSecond: 10, burst: 3 };
  const serverOf = (i: number) => `198.51.100.${i}`;

  it('allows a burst, then a fixed rate over all its servers, in order', async () => {
    const { wire, ask } = playThrottle({ rate });
    for (let i = 0; i < 8; i++) ask(`q${i}`, serverOf(i));
    const counts: number[] = [];
    for (let i = 0; i < 6; i++) {
      await pass(i === 0 ? 0 : 100);
      counts.push(wire.sent.length);
    }
    expect(counts).toEqual([3, 4, 5, 6, 7, 8]);
    expect(wire.sent).toEqual(wire.sent.map((_, i) => `q${i}@${serverOf(i)}`));
  });

  it('has a full burst again after a pause, but no more', async () => {
    const { wire, ask } = playThrottle({ rate });
    for (let i = 0; i < 3; i++) ask(`q${i}`, serverOf(i));
    await pass(60_000);
    for (let i = 3; i < 9; i++) ask(`q${i}`, serverOf(i));
    await pass(0);
    expect(wire.sent).toHaveLength(6);
    await pass(1_000);
    expect(wire.sent).toHaveLength(9);
  });

  it('does not slow down other operators', async () => {
    const { wire, ask } = playThrottle({ rate });
    for (let i = 0; i < 5; i++) ask(`q${i}`, serverOf(i));
    ask('other', serverOf(9), unlimited, { operator: 'other.test' });
    await pass(0);
    expect(wire.sent).toContain(`other@${serverOf(9)}`);
    await pass(1_000);
  });

  it('keeps waiting callers before a new one when a slot is free', async () => {
    const clock = { ms: 0 };
    const { wire, ask } = playThrottle({ rate: { perSecond: 10, burst: 1 }, now: () => clock.ms });
    for (const i of [0, 1]) ask(`q${i}`, serverOf(i));
    await pass(0);
    clock.ms = 100; // and the timer is late
    ask('q2', serverOf(2));
    await pass(0);
    expect(wire.sent).toEqual([`q0@${serverOf(0)}`]);
    await pass(100);
    clock.ms = 200;
    await pass(100);
    expect(wire.sent).toEqual([0, 1, 2].map((i) => `q${i}@${serverOf(i)}`));
  });

  it('shares fairly among its servers: a busy one holds two places in the queue', async () => {
    const { wire, ask } = playThrottle({ rate: { perSecond: 10, burst: 1 } });
    for (let i = 0; i < 5; i++) ask(`many${i}`, serverOf(1));
    ask('single', serverOf(2));
    await pass(200);
    expect(wire.sent).toEqual([
      `many0@${serverOf(1)}`,
      `many1@${serverOf(1)}`,
      `single@${serverOf(2)}`,
    ]);
    for (let i = 0; i < 5; i++) {
      wire.end(`many${i}`, answered);
      await pass(100);
    }
  });

  it('skips queries that would miss their deadline and gives the slots to others', async () => {
    const { wire, ask, ended } = playThrottle({ rate: { perSecond: 1, burst: 1 } });
    ask('first', serverOf(1));
    for (const name of ['hasty0', 'hasty1']) {
      ask(name, serverOf(2), startBudget({ ...defaultLimits, ms: 500 }));
    }
    ask('patient', serverOf(2));
    await pass(499);
    expect(ended).toEqual({});
    await pass(1);
    expect(ended).toEqual({ hasty0: 'not_asked', hasty1: 'not_asked' });
    await pass(1_000);
    expect(wire.sent).toEqual([`first@${serverOf(1)}`, `patient@${serverOf(2)}`]);
  });

  it('keeps no timer when all waiting callers are gone', async () => {
    const { ask, ended } = playThrottle({ rate: { perSecond: 0.001, burst: 1 } });
    ask('first', serverOf(1));
    ask('hasty', serverOf(2), startBudget({ ...defaultLimits, ms: 500 }));
    await pass(500);
    expect(ended).toEqual({ hasty: 'not_asked' });
  });
});

describe('the operator of a name server', () => {
  it.each([
    ['ns1.cloudflare.com', 'cloudflare.com'],
    ['ns-1.awsdns-00.co.uk', 'awsdns-00.co.uk'],
    ['ns.user.github.io', 'github.io'],
    ['a.gtld-servers.net', 'gtld-servers.net'],
    ['ns1.shop.test', 'shop.test'],
    ['com', 'com'],
    ['.', '.'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
  ])('%s is %s', (server, expected) => {
    expect(operatorOf(server)).toBe(expected);
  });
});
