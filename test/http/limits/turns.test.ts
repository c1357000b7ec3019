import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { wholeInstallation } from '../../../src/core/access.ts';
import { createTurns, type Leave, lineOf } from '../../../src/http/limits/turns.ts';

/** Places of accounts, as their requests get them. */
function tracked(places: number, placesWhenShared: number) {
  let at = 0;
  const turns = createTurns({ places, placesWhenShared, restMsMax: 0 }, () => at);
  const running: { account: string; leave: Leave }[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    async ask(account: string, times = 1) {
      for (let nth = 0; nth < times; nth += 1) {
        void turns.take(account).then((leave) => running.push({ account, leave }));
      }
      await settle();
    },
    async end(account: string) {
      const place = running.findIndex((one) => one.account === account);
      running.splice(place, 1)[0]?.leave();
      await settle();
    },
    pass(ms: number) {
      at += ms;
    },
    count: () => running.length,
    running: () => running.map(({ account }) => account).join(''),
  };
}

describe('turns of accounts', () => {
  it('give one account all places while it is alone', async () => {
    const turns = tracked(4, 2);
    await turns.ask('a', 9);
    expect(turns.running()).toBe('aaaa');
    await turns.end('a');
    expect(turns.running()).toBe('aaaa');
  });

  it('give it half of them once another one comes, which gets the next free place', async () => {
    const turns = tracked(4, 2);
    await turns.ask('a', 9);
    await turns.ask('b');
    expect(turns.running()).toBe('aaaa');
    await turns.end('a');
    expect(turns.running()).toBe('aaab');
    await turns.end('a');
    expect(turns.running()).toBe('aab');
    await turns.end('b');
    expect(turns.running()).toBe('aa');
  });

  it('keep places free for 5 seconds after the last request of another one', async () => {
    const turns = tracked(4, 1);
    await turns.ask('b');
    await turns.end('b');
    turns.pass(4_999);
    await turns.ask('a', 5);
    expect(turns.running()).toBe('a');
    turns.pass(1);
    await turns.ask('a');
    expect(turns.running()).toBe('aaaa');
  });

  it('prefer the account with the fewest places, then the one whose turn is longest ago', async () => {
    const turns = tracked(3, 2);
    await turns.ask('x');
    await turns.ask('a', 5);
    expect(turns.running()).toBe('xaa');
    await turns.ask('b', 2);
    await turns.ask('c', 2);
    await turns.end('a');
    expect(turns.running()).toBe('xab');
    await turns.end('x');
    expect(turns.running()).toBe('abc');
    await turns.end('c');
    expect(turns.running()).toBe('abc');
    await turns.end('b');
    expect(turns.running()).toBe('acb');
  });

  it('count a place that is left twice once', async () => {
    const turns = createTurns({ places: 1, placesWhenShared: 1, restMsMax: 0 });
    const leave = await turns.take('a');
    leave();
    leave();
    await turns.take('a');
    let isIn = false;
    void turns.take('b').then(() => {
      isIn = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isIn).toBe(false);
  });

  it('let an account rest as long as its request took, while others keep their places', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const turns = createTurns({ places: 2, placesWhenShared: 1, restMsMax: 50 }, () => Date.now());
    const waited: string[] = [];
    const take = async (account: string) => {
      const leave = await turns.take(account);
      waited.push(account);
      return leave;
    };
    (await take('b'))();
    const first = await take('a');
    void take('a');
    await vi.advanceTimersByTimeAsync(30);
    first();
    await vi.advanceTimersByTimeAsync(29);
    expect(waited).toEqual(['b', 'a']);
    (await take('b'))();
    await vi.advanceTimersByTimeAsync(1);
    expect(waited).toEqual(['b', 'a', 'b', 'a']);
  });

  it('leave half of the places to the installation', async () => {
    const turns = tracked(4, 1);
    await turns.ask('a');
    await turns.ask(lineOf(wholeInstallation), 9);
    expect(turns.count()).toBe(3);
  });
});
