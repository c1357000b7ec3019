import { decode, encode } from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeMessage, encodeQuestion } from '../../../src/dns/wire/message.ts';
import {
  closeAll,
  ednsIn,
  openRaw,
  openWire,
  question,
  responseTo,
  rightAnswer,
} from './servers.ts';

afterEach(closeAll);

describe('a server without EDNS support', () => {
  it('that is silent is retried once without EDNS', async () => {
    const seen: number[] = [];
    const server = await openRaw((query, reply) => {
      if (seen.push(ednsIn(query)) === 2) reply(responseTo(query));
    });
    expect(await openWire({ timeoutMs: 1_500 }).ask(question, server)).toMatchObject(rightAnswer);
    expect(seen).toEqual([1, 0]);
  });

  it.each<[string, (query: Buffer) => Buffer]>([
    ['with the question', (query) => responseTo(query, { flags: 1 })],
    ['with a header only', (query) => responseTo(query, { flags: 1 }).fill(0, 4).subarray(0, 12)],
  ])('that answers FORMERR %s is retried without EDNS at once', async (_how, formerr) => {
    const seen: number[] = [];
    const server = await openRaw((query, reply) =>
      reply(seen.push(ednsIn(query)) === 1 ? formerr(query) : responseTo(query)),
    );
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
    expect(seen).toEqual([1, 0]);
  });

  it.each<[string, (query: Buffer) => Buffer]>([
    ['with the question', (query) => responseTo(query, { flags: 4 })],
    ['with a header only', (query) => responseTo(query, { flags: 4 }).fill(0, 4).subarray(0, 12)],
  ])('that answers NOTIMP %s is retried without EDNS at once', async (_how, notimp) => {
    const seen: number[] = [];
    const server = await openRaw((query, reply) =>
      reply(seen.push(ednsIn(query)) === 1 ? notimp(query) : responseTo(query)),
    );
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
    expect(seen).toEqual([1, 0]);
  });

  it('that answers FORMERR to everything has responded', async () => {
    const server = await openRaw((query, reply) => reply(responseTo(query, { flags: 1 })));
    expect(await openWire().ask(question, server)).toMatchObject({ message: { rcode: 1 } });
  });
});

describe('the flags of a query', () => {
  const bytesOf = (flags: object, edns = true) =>
    encodeQuestion({ ...question, ...flags }, 7, edns).toString('hex');
  const asked = '00 04 646f6373 0473686f70 0474657374 00 0001 0001'.replaceAll(' ', '').slice(2);

  it.each([
    ['none', {}, '0000', '00 0029 04d0 00000000 0000'],
    ['DO', { dnssecOk: true }, '0000', '00 0029 04d0 00008000 0000'],
    ['CD', { checkingDisabled: true }, '0010', '00 0029 04d0 00000000 0000'],
    [
      'all',
      { dnssecOk: true, checkingDisabled: true, recursionDesired: true },
      '0110',
      '00 0029 04d0 00008000 0000',
    ],
  ])('%s', (_what, flags, header, opt) => {
    const expected = `0007 ${header} 0001 0000 0000 0001 ${asked} ${opt}`.replaceAll(' ', '');
    expect(bytesOf(flags)).toBe(expected);
  });

  it('reach the server, and CD is kept without EDNS', async () => {
    const queries: Buffer[] = [];
    const server = await openRaw((query, reply) => {
      if (queries.push(query) === 2) reply(responseTo(query));
    });
    const flags = { dnssecOk: true, checkingDisabled: true };
    await openWire({ timeoutMs: 50 }).ask({ ...question, ...flags }, server);
    const [first, second] = queries.map((query) => decode(query));
    expect(first).toMatchObject({ flag_cd: true, additionals: [{ flag_do: true }] });
    expect(second).toMatchObject({ flag_cd: true, additionals: [] });
  });
});

/** A response with these bytes as options of its OPT record. */
function withOptions(...options: readonly number[]): Buffer {
  const response = encode({ type: 'response', id: 7, flags: 2, questions: [], additionals: [] });
  response.writeUInt16BE(1, 10);
  const opt = [0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, options.length >> 8, options.length & 0xff];
  return Buffer.concat([response, Buffer.from(opt), Buffer.from(options)]);
}

const errorsIn = (...options: readonly number[]) =>
  decodeMessage(withOptions(...options)).extendedErrors;
const option = (code: number, ...data: readonly number[]) => [
  0,
  code,
  data.length >> 8,
  data.length & 0xff,
  ...data,
];
const textOf = (...bytes: readonly number[]) => errorsIn(...option(15, 0, 6, ...bytes))[0]?.text;

describe('the extended errors of a response', () => {
  it('are read with their text, between other options', () => {
    const cookie = option(10, 1, 2, 3, 4, 5, 6, 7, 8);
    const bogus = option(15, 0, 6, ...Buffer.from('no SEP'));
    expect(errorsIn(...cookie, ...bogus, ...option(15, 0x01, 0x00))).toEqual([
      { code: 6, text: 'no SEP' },
      { code: 256, text: '' },
    ]);
  });

  it('have untrusted bytes escaped', () => {
    expect(textOf(0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x5c, 0xc3, 0xbc, 0)).toBe(
      '\\027[31m\\092\\195\\188\\000',
    );
  });

  it('are cut to 200 octets and to eight errors', () => {
    expect(textOf(...Array(201).fill(0x61))).toBe('a'.repeat(200));
    expect(
      errorsIn(
        ...Array(20)
          .fill(option(15, 0, 6))
          .flat(),
      ),
    ).toHaveLength(8);
  });

  it.each([
    ['none', []],
    ['too short for a code', option(15, 6)],
    ['longer than the record', [0, 15, 0, 9, 0, 6]],
    ['cut off in the middle', [0, 15, 0]],
  ])('are ignored when malformed: %s', (_what, options) => {
    const message = decodeMessage(withOptions(...options));
    expect(message).toMatchObject({ rcode: 2, extendedErrors: [], additional: [{ type: 'OPT' }] });
  });

  it('before a malformed one are kept', () => {
    expect(errorsIn(...option(15, 0, 9), 0, 15, 0, 200, 0)).toEqual([{ code: 9, text: '' }]);
  });
});

describe('a response with signatures', () => {
  it('is read without them and marked as authenticated', () => {
    const bytes = encode({
      type: 'response',
      id: 7,
      flags: 0x8000 | 0x0020 | 0x0010,
      questions: [{ type: 'A', name: 'x.test' }],
      answers: [
        { type: 'A', name: 'x.test', data: '192.0.2.1' },
        {
          type: 'RRSIG',
          name: 'x.test',
          data: {
            typeCovered: 'A',
            algorithm: 13,
            labels: 2,
            originalTTL: 60,
            expiration: 1,
            inception: 0,
            keyTag: 1,
            signersName: 'x.test',
            signature: Buffer.alloc(64, 0xc0),
          },
        },
      ],
      authorities: [
        { type: 'NSEC', name: 'x.test', data: { nextDomain: 'y.test', rrtypes: ['A', 'RRSIG'] } },
        {
          type: 'NSEC3',
          name: 'abc.x.test',
          data: {
            algorithm: 1,
            flags: 0,
            iterations: 0,
            salt: Buffer.alloc(0),
            nextDomain: Buffer.alloc(20, 0xff),
            rrtypes: ['A'],
          },
        },
      ],
    });
    expect(decodeMessage(bytes)).toMatchObject({
      authenticData: true,
      checkingDisabled: true,
      extendedErrors: [],
      answers: [
        { type: 'A', address: '192.0.2.1' },
        { type: 'OTHER', typeCode: 46 },
      ],
      authority: [
        { type: 'OTHER', typeCode: 47 },
        { type: 'OTHER', typeCode: 50 },
      ],
    });
  });
});
