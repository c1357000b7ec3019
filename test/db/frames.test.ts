import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cutFrames,
  queryMessage,
  readOutput,
  renameStatement,
  startupKind,
  startupMessage,
  syncMessage,
} from '../../src/db/engine/embedded/frames.ts';

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}0000${body}`, 'latin1');
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

describe('messages of the PostgreSQL protocol', () => {
  test('are read whole, however the stream is split', () => {
    const sent = [
      startupMessage({ user: 'u' }),
      queryMessage('SELECT 1'),
      message('P', '\0SELECT 2\0\0\0'),
      syncMessage,
    ];
    const stream = Buffer.concat(sent);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const received: Buffer[] = [];
        let unread = Buffer.alloc(0);
        for (const [index, edge] of edges.slice(1).entries()) {
          const chunk = stream.subarray(edges[index], edge);
          const { frames, rest } = cutFrames(Buffer.concat([unread, chunk]));
          received.push(...frames.map(({ bytes }) => Buffer.from(bytes)));
          unread = Buffer.from(rest);
        }
        expect(received).toEqual(sent);
        expect(unread).toHaveLength(0);
      }),
    );
  });

  test('without a type are recognized by their code', () => {
    const untyped = (code: number) => {
      const bytes = Buffer.alloc(8);
      bytes.writeInt32BE(8, 0);
      bytes.writeInt32BE(code, 4);
      return { type: 'startup', bytes };
    };
    expect(startupKind(untyped(80_877_103))).toBe('encryption');
    expect(startupKind(untyped(80_877_102))).toBe('cancel');
    expect(startupKind({ type: 'startup', bytes: startupMessage({}) })).toBe('session');
  });

  test.each([
    ['a negative length', Buffer.from([0x51, 0xff, 0xff, 0xff, 0xff])],
    ['a length shorter than itself', Buffer.from([0x51, 0, 0, 0, 3])],
    ['a startup message shorter than its header', Buffer.from([0, 0, 0, 4, 0])],
  ])('with %s are rejected', (_what, bytes) => {
    expect(() => cutFrames(bytes)).toThrow('not a message of the PostgreSQL protocol');
  });

  test.each([
    ['Z', 'I', 'I'],
    ['Z', 'T', 'T'],
    ['Z', 'E', 'E'],
    ['C', 'SELECT 1\0', null],
  ] as const)('of type %s with %j leave the session in state %j', (type, body, status) => {
    const output = Buffer.concat([message('C', 'BEGIN\0'), message(type, body)]);
    expect(readOutput(output).status).toBe(status);
  });

  test('with notifications are found among other responses', () => {
    const note = message('A', '\0\0\0\x01jobs\0{}\0');
    const output = Buffer.concat([message('C', 'COMMIT\0'), note, message('Z', 'I')]);
    expect(readOutput(output)).toEqual({ own: output, notifications: [note], status: 'I' });
  });

  const named: readonly [string, Buffer, Buffer][] = [
    ['Parse', message('P', 'find\0SELECT 1\0\0\0'), message('P', 'c1_find\0SELECT 1\0\0\0')],
    ['Bind', message('B', 'portal\0find\0\0\0'), message('B', 'portal\0c1_find\0\0\0')],
    ['Describe', message('D', 'Sfind\0'), message('D', 'Sc1_find\0')],
    ['Close', message('C', 'Sfind\0'), message('C', 'Sc1_find\0')],
    ['Parse without a name', message('P', '\0SELECT 1\0'), message('P', '\0SELECT 1\0')],
    ['Describe of a portal', message('D', 'Pfind\0'), message('D', 'Pfind\0')],
    ['Execute', message('E', 'find\0\0\0\0\0'), message('E', 'find\0\0\0\0\0')],
  ];
  test.each(named)('a statement of %s is renamed if it has a name', (_what, from, to) => {
    const type = from.toString('latin1', 0, 1);
    expect(renameStatement({ type, bytes: from }, 'c1_').frame.bytes).toEqual(to);
  });
});
