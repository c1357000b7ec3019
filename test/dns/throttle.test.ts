import { afterEach, describe, expect, it } from 'vitest';
import { createThrottle } from '../../src/dns/servers/throttle.ts';
import { defaultLimits, startBudget, unlimited } from '../../src/dns/wire/budget.ts';
import { createWire } from '../../src/dns/wire/wire.ts';
import { about, openHoldingServer, whose } from './throttle-server.ts';

const timeout = { kind: 'timeout' } as const;
const notAsked = { kind: 'not_asked' } as const;

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

describe('the throttle over real DNS', () => {
  async function openServer(address?: string) {
    const server = await openHoldingServer(address);
    open.push(server.close);
    return server;
  }

  function openThrottle(options: Parameters<typeof createThrottle>[1] = {}) {
    const wire = createWire({ timeoutMs: 60_000 });
    open.push(wire.close);
    return { wire, throttle: createThrottle(wire, options) };
  }

  it('sends a server two queries at once, in order', async () => {
    const server = await openServer();
    const { throttle } = openThrottle();
    const names = Array.from({ length: 9 }, (_, i) => `q${i}.test`);
    const answers = names.map((name) =>
      throttle.ask(about(name), server, { ...whose, budget: unlimited }),
    );
    for (let left = names.length; left > 0; left--) {
      await server.holds(Math.min(left, 2));
      server.answerOne();
    }
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(
      names.map(() => 'response'),
    );
    expect(server.mostHeld()).toBe(2);
    expect(server.asked).toEqual(names);
  });

  it.each([
    ['NOERROR', 0, 'answered'],
    ['SERVFAIL', 2, 'failed'],
    ['NXDOMAIN', 3, 'answered'],
    ['REFUSED', 5, 'failed'],
  ])('%s (%i) counts as %s', async (_name, rcode, outcome) => {
    const server = await openServer();
    const counted: string[] = [];
    const { throttle } = openThrottle({ count: (_operator, what) => counted.push(what) });
    const answer = throttle.ask(about('q.test'), server, { ...whose, budget: unlimited });
    await server.holds(1);
    server.answerOne(rcode);
    await answer;
    expect(counted).toEqual([outcome]);
  });

  it('does not delay other servers behind a slow one', async () => {
    const slow = await openServer();
    const quick = await openServer('127.0.0.2');
    const { throttle } = openThrottle();
    const ask = (name: string, server = slow) =>
      throttle.ask(about(name), server, { ...whose, budget: unlimited });
    const waiting = ['a.test', 'b.test', 'c.test'].map((name) => ask(name));
    await slow.holds(2);
    for (const name of ['d.test', 'e.test', 'f.test']) {
      const answer = ask(name, quick);
      await quick.holds(1);
      quick.answerOne();
      expect(await answer).toMatchObject({ kind: 'response' });
    }
    expect(slow.asked).toEqual(['a.test', 'b.test']);
    slow.answerOne();
    await slow.holds(2);
    slow.answerOne();
    slow.answerOne();
    await Promise.all(waiting);
  });

  it('treats two ports of one address as two servers', async () => {
    const [one, other] = [await openServer(), await openServer()];
    const { throttle } = openThrottle();
    const answers = [one, one, other, other].map((server, i) =>
      throttle.ask(about(`q${i}.test`), server, { ...whose, budget: unlimited }),
    );
    await Promise.all([one.holds(2), other.holds(2)]);
    for (const server of [one, one, other, other]) server.answerOne();
    await Promise.all(answers);
  });

  it('does not send a query whose deadline passed while waiting, and reports no timeout', async () => {
    const server = await openServer();
    const { throttle } = openThrottle();
    const first = ['a.test', 'b.test'].map((name) =>
      throttle.ask(about(name), server, { ...whose, budget: unlimited }),
    );
    await server.holds(2);
    const budget = startBudget({ ...defaultLimits, ms: 30 });
    expect(await throttle.ask(about('late.test'), server, { ...whose, budget })).toEqual(notAsked);
    expect(budget.questionsLeft).toBe(defaultLimits.questions);
    server.answerOne();
    server.answerOne();
    await Promise.all(first);
    expect(server.asked).toEqual(['a.test', 'b.test']);
  });

  it('times out waiting and later queries when it is closed', async () => {
    const server = await openServer();
    const { wire, throttle } = openThrottle();
    const ask = (name: string) =>
      throttle.ask(about(name), server, { ...whose, budget: unlimited });
    const answers = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test'].map(ask);
    await server.holds(2);
    wire.close();
    expect(await Promise.all(answers)).toEqual(answers.map(() => timeout));
    expect(await ask('f.test')).toEqual(timeout);
    expect(server.asked).toHaveLength(2);
  });

  it('rejects an invalid name and holds no slot for it', async () => {
    const server = await openServer();
    const { throttle } = openThrottle();
    const ask = (name: string) =>
      throttle.ask(about(name), server, { ...whose, budget: unlimited });
    for (let i = 0; i < 3; i++) await expect(ask('a..test')).rejects.toThrow(RangeError);
    const answers = [ask('a.test'), ask('b.test')];
    await server.holds(2);
    server.answerOne();
    server.answerOne();
    await Promise.all(answers);
  });
});
