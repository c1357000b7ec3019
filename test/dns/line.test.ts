import { expect, it, vi } from 'vitest';
import { createLine } from '../../src/dns/servers/line.ts';
import { fakeTimersInEachTest } from './fake-timers.ts';

fakeTimersInEachTest();

it('a long queue keeps its order when callers give up or arrive late', async () => {
  const line = createLine();
  const turns: number[] = [];
  const gaveUp: number[] = [];
  function join(from: number, to: number) {
    for (let n = from; n < to; n++) {
      const deadline = n % 3 === 0 ? performance.now() + 10 : Number.POSITIVE_INFINITY;
      void line.join(deadline, 'one').then((turn) => (turn ? turns : gaveUp).push(n));
    }
  }
  join(0, 500);
  for (let i = 0; i < 300; i++) expect(line.next()).toBe(true);
  await vi.advanceTimersByTimeAsync(10);
  join(500, 600);
  while (!line.isEmpty()) expect(line.next()).toBe(true);
  await vi.advanceTimersByTimeAsync(0);
  const all = Array.from({ length: 600 }, (_, n) => n);
  const hasty = (n: number) => n % 3 === 0 && n >= 300 && n < 500;
  expect(turns).toEqual(all.filter((n) => !hasty(n)));
  expect(gaveUp).toEqual(all.filter(hasty));
  expect(line.next()).toBe(false);
});

it('owners take turns, and a new one comes after those that wait already', async () => {
  const line = createLine();
  const turns: string[] = [];
  const join = (owner: string, count: number) => {
    for (let nth = 1; nth <= count; nth++) {
      void line.join(Number.POSITIVE_INFINITY, owner).then(() => turns.push(`${owner}${nth}`));
    }
  };
  join('many', 500);
  for (let nth = 0; nth < 100; nth++) line.next();
  join('few', 2);
  join('one', 1);
  for (let nth = 0; nth < 6; nth++) line.next();
  await vi.advanceTimersByTimeAsync(0);
  expect(turns.slice(100)).toEqual(['many101', 'few1', 'one1', 'many102', 'few2', 'many103']);
  while (line.next()) await vi.advanceTimersByTimeAsync(0);
  expect(turns).toHaveLength(503);
});

it('an owner whose callers all gave up loses its turn', async () => {
  const line = createLine();
  const turns: string[] = [];
  void line.join(performance.now() + 10, 'hasty').then((turn) => turns.push(`hasty ${turn}`));
  void line.join(Number.POSITIVE_INFINITY, 'patient').then((turn) => turns.push(`patient ${turn}`));
  await vi.advanceTimersByTimeAsync(10);
  expect(line.next()).toBe(true);
  expect(line.isEmpty()).toBe(true);
  await vi.advanceTimersByTimeAsync(0);
  expect(turns).toEqual(['hasty false', 'patient true']);
});
