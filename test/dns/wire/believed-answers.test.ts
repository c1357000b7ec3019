import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits, startBudget } from '../../../src/dns/wire/budget.ts';
import { lowerCase, mixCase } from '../../../src/dns/wire/exchange.ts';
import {
  atTheEnd,
  closeAll,
  ednsIn,
  nameIn,
  openDns,
  openRaw,
  openTruncating,
  openWire,
  question,
  responseTo,
  rightAnswer,
} from './servers.ts';

afterEach(closeAll);

/** Long enough that two random cases never coincide. */
const longName = `${'docs-and-guides.'.repeat(8)}customers.shop.test`;
const longQuestion = { ...question, name: longName };

function swapCase(name: string): string {
  return [...name].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('');
}

const denial = (query: Buffer, change: object) =>
  responseTo(query, { flags: 0x0403, answers: [], ...change });

function withTwoQuestions(query: Buffer): Buffer {
  const answer = denial(query, {});
  answer.writeUInt16BE(2, 4);
  return Buffer.concat([answer, answer.subarray(12)]);
}

describe('a spoofed response is ignored and the right one accepted when', () => {
  it.each<[string, (query: Buffer) => Buffer]>([
    ['its ID is wrong', (query) => denial(query, { id: query.readUInt16BE(0) ^ 1 })],
    [
      'its ID is that of the same slot',
      (query) => denial(query, { id: query.readUInt16BE(0) ^ 0x1000 }),
    ],
    ['it answers another query', (query) => denial(query, { name: 'evil.shop.test' })],
    ['it answers for another type', (query) => otherType(denial(query, {}))],
    ['it has two questions', withTwoQuestions],
    ['it is a query itself', (query) => query],
    ['it is too short', (query) => query.subarray(0, 7)],
    ['it is only a header', (query) => denial(query, {}).fill(0, 4).subarray(0, 12)],
    ['it ends within the question', (query) => denial(query, {}).subarray(0, 20)],
  ])('%s', async (_why, wrong) => {
    const server = await openRaw((query, reply) => {
      reply(wrong(query));
      reply(responseTo(query));
    });
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
  });

  it('it comes from another port', async () => {
    const stranger = createSocket('udp4');
    atTheEnd(() => stranger.close());
    // The attacker knows ID, question and case, and answers first.
    const server = await openRaw((query, reply, { port, address }) =>
      stranger.send(denial(query, {}), port, address, () => reply(responseTo(query))),
    );
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
  });

  it('it comes from another address', async () => {
    const server = await openRaw((query, reply, { port, address }) =>
      stranger.send(denial(query, {}), port, address, () => reply(responseTo(query))),
    );
    const stranger = createSocket('udp4');
    atTheEnd(() => stranger.close());
    stranger.bind(server.port, '127.0.0.2');
    await once(stranger, 'listening');
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
  });

  it('its ID is wrong every time, which ends in a timeout', async () => {
    const dns = await openDns({ 'shop.test': ['docs A 192.0.2.1'] });
    dns.fail(question.name, 'A', 'wrong_id');
    expect(await openWire({ timeoutMs: 50 }).ask(question, dns)).toEqual({ kind: 'timeout' });
  });
});

describe('the case of a query name', () => {
  it('is random each time, and names in the response are in lower case', async () => {
    const names: string[] = [];
    const server = await openRaw((query, reply) => {
      names.push(nameIn(query));
      reply(responseTo(query));
    });
    const wire = openWire();
    for (let i = 0; i < 5; i++) {
      const answer = await wire.ask({ ...longQuestion, name: longName.toUpperCase() }, server);
      expect(answer).toMatchObject({ message: { question: { name: longName } } });
    }
    expect(new Set(names).size).toBe(5);
    expect(names.map((name) => name.toLowerCase())).toEqual(Array(5).fill(longName));
  });

  it('changes the letters only and uses any pattern', () => {
    const draws = fc.infiniteStream(fc.integer({ min: 0, max: 0xffff }));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), draws, (bytes, stream) => {
        const mixed = Uint8Array.from(bytes);
        mixCase(mixed, 0, mixed.length, () => stream.next().value ?? 0);
        const [lower, expected] = [Uint8Array.from(mixed), Uint8Array.from(bytes)];
        lowerCase(lower, 0, lower.length);
        lowerCase(expected, 0, expected.length);
        expect(lower).toEqual(expected);
      }),
    );
    const pattern = Buffer.from('a.abcdefghij-klmnopq');
    mixCase(pattern, 2, pattern.length, () => 0b1010_1010_1010_1010);
    expect(pattern.toString()).toBe('a.aBcDeFgHiJ-kLmNoPq');
  });

  it('is fixed for a name without letters', async () => {
    const server = await openRaw((query, reply) => reply(responseTo(query)));
    const answer = await openWire().ask({ ...question, name: '1.2.3' }, server);
    expect(answer).toMatchObject({ kind: 'response' });
  });
});

describe('a query to a server that does not keep the case of the name', () => {
  it('is retried at once in lower case with EDNS and a new port and ID', async () => {
    const queries: { name: string; edns: number; from: string }[] = [];
    const server = await openRaw((query, reply, { port }) => {
      const from = `${port} ${query.readUInt16BE(0)}`;
      queries.push({ name: nameIn(query), edns: ednsIn(query), from });
      reply(responseTo(query, { name: nameIn(query).toLowerCase() }));
    });
    const answer = await openWire({ usesPerSocket: 1 }).ask(longQuestion, server);
    expect(answer).toMatchObject({ kind: 'response', message: { answers: [{ name: longName }] } });
    const [first, second] = queries;
    expect(queries).toHaveLength(2);
    expect(first?.name).not.toBe(longName);
    expect(second).toMatchObject({ name: longName, edns: 1 });
    const [port, id] = first?.from.split(' ') ?? [];
    expect(second?.from.split(' ')).toEqual([
      expect.not.stringMatching(`^${port}$`),
      expect.not.stringMatching(`^${id}$`),
    ]);
  });

  it.each([
    ['FORMERR in the wrong case', [1, 0]],
    ['FORMERR in the right case, and then the wrong one', [1, 0, 0]],
  ])('is retried without EDNS if the server does not support it: %s', async (what, edns) => {
    const seen: number[] = [];
    const server = await openRaw((query, reply) => {
      seen.push(ednsIn(query));
      const name = nameIn(query).toLowerCase();
      if (ednsIn(query) === 0) reply(responseTo(query, { name }));
      else reply(responseTo(query, { flags: 1, ...(what.includes('right') ? {} : { name }) }));
    });
    expect(await openWire().ask(longQuestion, server)).toMatchObject({ kind: 'response' });
    expect(seen).toEqual(edns);
  });

  it('must then keep the lower case; any other case is ignored', async () => {
    let asks = 0;
    const server = await openRaw((query, reply) => {
      asks += 1;
      reply(responseTo(query, { name: swapCase(nameIn(query)) }));
    });
    const answer = await openWire({ timeoutMs: 500 }).ask(longQuestion, server);
    expect(answer).toEqual({ kind: 'timeout', responded: true });
    expect(asks).toBe(2);
  });

  it('costs a query of the budget, which may be the last', async () => {
    const server = await openRaw((query, reply) =>
      reply(responseTo(query, { name: nameIn(query).toLowerCase() })),
    );
    const ask = (questions: number) =>
      openWire().ask(longQuestion, server, {
        budget: startBudget({ ...defaultLimits, questions }),
      });
    expect(await ask(1)).toEqual({ kind: 'timeout', responded: true, cutOff: true });
    expect(await ask(2)).toMatchObject({ kind: 'response' });
  });

  it('may answer in any case over TCP', async () => {
    const server = await openTruncating((socket) => {
      socket.on('data', (bytes) => {
        const answer = responseTo(bytes.subarray(2), { name: longName.toUpperCase() });
        socket.write(
          Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 0xff]), answer]),
        );
      });
    });
    expect(await openWire().ask(longQuestion, server)).toMatchObject({
      kind: 'response',
      via: 'tcp',
    });
  });
});

/** The same response for another type than A. */
function otherType(answer: Buffer): Buffer {
  answer.writeUInt8(28, 12 + question.name.length + 2 + 1);
  return answer;
}
