import { describe, expect, test } from 'vitest';
import { createWindows, type Windows } from '../../../src/http/limits/windows.ts';

const windowMs = 60_000;
const windowsOf = (quota: number) => createWindows({ quota, windowMs, isShared: true });

function take(windows: Windows, id: string, times = 1, at = 0) {
  return Array.from({ length: times }, () => windows.take(id, at)).at(-1);
}

/** Sends to a store that replies with these values; returns what was sent. */
function report(windows: Windows, used: number, msLeft: number, at = 0): readonly number[] {
  const reports = windows.due(10, at);
  for (const each of reports) windows.acknowledge(each, { used, msLeft }, at);
  return reports.map(({ points }) => points);
}

describe('The report to the store', () => {
  test('sums up each key and sends it once', () => {
    const windows = windowsOf(1_000);
    take(windows, 'a', 5);
    take(windows, 'b');
    const said = windows.due(10, 0).map(({ window, points }) => [window.id, points]);
    expect(said).toEqual([
      ['a', 5],
      ['b', 1],
    ]);
    expect(windows.isDue).toBe(false);
    expect(windows.due(10, 0)).toEqual([]);
  });

  test('leaves out rejected requests', () => {
    const windows = windowsOf(3);
    take(windows, 'a', 10);
    expect(windows.due(10, 0)).toMatchObject([{ points: 3 }]);
  });

  test('leaves out a window that has ended', () => {
    const windows = windowsOf(1_000);
    take(windows, 'a', 5);
    expect(windows.due(10, windowMs)).toEqual([]);
    take(windows, 'b', 5);
    take(windows, 'b', 1, windowMs);
    expect(windows.due(10, windowMs)).toMatchObject([{ points: 1 }]);
  });

  test('is bounded and puts keys with 1% of the quota used before a flood of others', () => {
    const windows = windowsOf(1_000);
    for (let n = 0; n < 5_000; n += 1) take(windows, `flood ${n}`);
    take(windows, 'nearly', 9);
    take(windows, 'busy', 10);
    const said = windows.due(3, 0).map(({ window }) => window.id);
    expect(said).toEqual(['busy', 'flood 0', 'flood 1']);
    expect(windows.isDue).toBe(true);
  });

  test('drops keys that the process has dropped, so a flood cannot pile up', () => {
    const windows = windowsOf(1_000);
    for (let n = 0; n < 50_000; n += 1) take(windows, `flood ${n}`);
    expect(windows.due(50_000, 0)).toHaveLength(20_000);
  });

  test('is empty without a listener', () => {
    const windows = createWindows({ quota: 10, windowMs, isShared: false });
    take(windows, 'a', 5);
    expect(windows.isDue).toBe(false);
    expect(windows.due(10, 0)).toEqual([]);
  });
});

describe('The reply of the store', () => {
  test('adds what other processes used', () => {
    const windows = windowsOf(10);
    take(windows, 'a', 2);
    report(windows, 2 + 5, windowMs);
    expect(take(windows, 'a')).toEqual({ allowed: true, remaining: 2, resetSeconds: 60 });
  });

  test('rejects once they used it all', () => {
    const windows = windowsOf(10);
    take(windows, 'a');
    report(windows, 11, 20_000);
    expect(take(windows, 'a')).toEqual({ allowed: false, remaining: 0, resetSeconds: 20 });
    expect(take(windows, 'a', 1, 20_000)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('includes requests counted while the reply was under way', () => {
    const windows = windowsOf(10);
    take(windows, 'a', 2);
    const reports = windows.due(10, 0);
    take(windows, 'a', 3);
    for (const each of reports) windows.acknowledge(each, { used: 6, msLeft: windowMs }, 0);
    expect(take(windows, 'a')).toMatchObject({ remaining: 10 - 4 - 5 - 1 });
    expect(report(windows, 6 + 4, windowMs)).toEqual([4]);
    expect(take(windows, 'a')).toMatchObject({ allowed: false });
  });

  test('can be lost: what was sent is not sent again and still counts locally', () => {
    const windows = windowsOf(10);
    take(windows, 'a', 4);
    expect(windows.due(10, 0)).toMatchObject([{ points: 4 }]); // the reply is lost
    take(windows, 'a');
    expect(report(windows, 1 + 2, windowMs)).toEqual([1]);
    expect(take(windows, 'a')).toMatchObject({ remaining: 10 - 5 - 2 - 1 });
  });

  test('ends the window for all processes together', () => {
    const windows = windowsOf(10);
    take(windows, 'a');
    report(windows, 4, 5_000);
    expect(take(windows, 'a', 1, 4_999)).toMatchObject({ remaining: 5, resetSeconds: 1 });
    expect(take(windows, 'a', 1, 5_000)).toMatchObject({ remaining: 9, resetSeconds: 60 });
  });

  test('does not free a key when the store was emptied', () => {
    const windows = windowsOf(10);
    take(windows, 'a', 9);
    report(windows, 9, 30_000);
    take(windows, 'a');
    report(windows, 1, windowMs); // it knows no window and starts one
    expect(take(windows, 'a')).toEqual({ allowed: false, remaining: 0, resetSeconds: 30 });
  });

  test('cannot extend a window, whatever the clock of the other process', () => {
    const windows = windowsOf(10);
    take(windows, 'a');
    report(windows, 1, 3 * windowMs);
    expect(take(windows, 'a')).toMatchObject({ remaining: 8, resetSeconds: 60 });
  });
});
