import { describe, expect, it, test } from 'vitest';
import {
  chunked,
  heartbeat,
  opening,
  parseLastEventId,
  sentEvent,
} from '../../src/events/event-stream.ts';
import { readEvents } from '../support/sse.ts';

async function* sent(...texts: readonly string[]) {
  yield* texts;
}

describe('The SSE format', () => {
  it('sends events with number, type and one line of JSON', async () => {
    const data = JSON.stringify({ text: 'two\nlines: of\r\n\ntext' });
    const reading = readEvents(
      sent(opening(7n), sentEvent({ id: 8n, event: 'domain.live', data })),
    );
    expect(await reading.next()).toEqual({
      event: 'domain.live',
      id: '8',
      data: { text: 'two\nlines: of\r\n\ntext' },
    });
    expect(await reading.next()).toBeNull();
  });

  it('sends the starting position before the first event', async () => {
    const reading = readEvents(sent(opening(7n), heartbeat));
    expect(await reading.next()).toBeNull();
    expect(reading.lastEventId()).toBe('7');
    expect(reading.comments).toEqual(['heartbeat']);
  });

  it('keeps the client’s own number', async () => {
    const reading = readEvents(sent(opening(null)));
    expect(await reading.next()).toBeNull();
    expect(reading.lastEventId()).toBe('');
  });

  it('splits events into chunks of limited length', () => {
    expect([...chunked(['ab', 'cd', 'ef', 'g'], 4)]).toEqual(['abcd', 'efg']);
    expect([...chunked([], 4)]).toEqual([]);
  });
});

const lastEventIds: readonly (readonly [text: string, number: bigint | null])[] = [
  ['0', 0n],
  ['42', 42n],
  ['007', 7n],
  ['9223372036854775808', 2n ** 63n],
  ['', null],
  [' ', null],
  ['-1', null],
  ['+1', null],
  ['1.0', null],
  ['1e3', null],
  ['0x1', null],
  ['1, 2', null],
  ['abc', null],
  ['\u0661', null],
  ['1\u0000', null],
  ['9'.repeat(41), null],
];

test.each(lastEventIds)('parses the Last-Event-ID %j as %s', (text, number) => {
  expect(parseLastEventId(text)).toBe(number);
});
