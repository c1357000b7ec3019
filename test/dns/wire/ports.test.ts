import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { closeAll, openRaw, openWire, question, responseTo, rightAnswer } from './servers.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
});

/** Sends one query after each pause and returns their source ports. */
async function portsAfter(pauses: readonly number[]): Promise<readonly number[]> {
  const ports: number[] = [];
  const server = await openRaw((query, reply, source) => {
    ports.push(source.port);
    reply(responseTo(query));
  });
  const wire = openWire({ socketsPerFamily: 1 });
  for (const pauseMs of pauses) {
    vi.advanceTimersByTime(pauseMs);
    expect(await wire.ask(question, server)).toMatchObject(rightAnswer);
  }
  return ports;
}

it('queries use one source port for ten seconds, and then another', async () => {
  const [first, second, third, fourth] = await portsAfter([0, 4_000, 5_999, 1]);
  expect([second, third]).toEqual([first, first]);
  expect(fourth).not.toBe(first);
});

it('a mostly idle process uses each source port once', async () => {
  const ports = await portsAfter([0, 3_600_000, 10_000]);
  expect(new Set(ports).size).toBe(3);
});
