import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode } from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits, startBudget } from '../../../src/dns/budget.ts';
import { createWire } from '../../../src/dns/wire/wire.ts';
import { asked, atTheEnd, closeAll, openDns, PATIENCE_MS } from '../laboratory.ts';

afterEach(closeAll);

const question = { name: 'docs.shop.test', type: 'A', recursionDesired: false } as const;
const zones = { 'shop.test': ['docs A 192.0.2.1'] };

function openWire(options = {}) {
  const wire = createWire({
    timeoutMs: PATIENCE_MS,
    tcpTimeoutMs: PATIENCE_MS,
    ...options,
  });
  atTheEnd(wire.close);
  return wire;
}

type Reply = (bytes: Buffer) => void;

/** A server that misbehaves by hand: `answer` gets each query and sends what it likes. */
async function openRaw(answer: (query: Buffer, reply: Reply, source: RemoteInfo) => void) {
  const socket = createSocket('udp4');
  socket.on('message', (query, source) =>
    answer(query, (bytes) => socket.send(bytes, source.port, source.address), source),
  );
  const listening = once(socket, 'listening');
  socket.bind(0, '127.0.0.1');
  await listening;
  atTheEnd(() => socket.close());
  return { address: '127.0.0.1', port: socket.address().port };
}

function responseTo(query: Buffer, change: { id?: number; name?: string; flags?: number } = {}) {
  const { id = 0, questions: [first] = [] } = decode(query);
  const name = change.name ?? first?.name ?? '';
  return encode({
    type: 'response',
    id: change.id ?? id,
    flags: change.flags ?? 0x0400,
    questions: [{ type: first?.type ?? 'A', name }],
    answers: [{ type: 'A', name, data: '192.0.2.1' }],
  });
}

const rightAnswer = {
  kind: 'response',
  message: { answers: [{ name: question.name, address: '192.0.2.1' }] },
};

describe('an answer', () => {
  it('comes over UDP', async () => {
    const dns = await openDns(zones);
    expect(await openWire().ask(question, dns)).toMatchObject({ ...rightAnswer, via: 'udp' });
  });

  it('that is truncated is fetched whole over TCP', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, 'A', 'truncate');
    expect(await openWire().ask(question, dns)).toMatchObject({ ...rightAnswer, via: 'tcp' });
    expect(dns.questions.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  it('that is too large for UDP is fetched over TCP', async () => {
    const many = Array.from({ length: 200 }, (_, i) => `docs A 192.0.2.${i}`);
    const dns = await openDns({ 'shop.test': many });
    const answer = await openWire().ask(question, dns);
    expect(answer.kind === 'response' && answer.message.answers).toHaveLength(200);
    expect(answer).toMatchObject({ via: 'tcp' });
  });

  it('that is truncated counts for nothing where nobody answers over TCP', async () => {
    const server = await openRaw((query, reply) => reply(responseTo(query, { flags: 0x0600 })));
    expect(await openWire().ask(question, server)).toEqual({ kind: 'timeout' });
  });

  it('with nonsense in it is malformed', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, 'A', 'garbage');
    expect(await openWire().ask(question, dns)).toEqual({ kind: 'malformed' });
  });

  it('may repeat the name in another case', async () => {
    const server = await openRaw((query, reply) =>
      reply(responseTo(query, { name: 'DOCS.shop.TEST' })),
    );
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
  });
});

describe('an answer is ignored, and the right one still taken, when', () => {
  it.each<[string, (query: Buffer) => Buffer]>([
    ['its id is wrong', (query) => responseTo(query, { id: query.readUInt16BE(0) ^ 1 })],
    ['it answers another question', (query) => responseTo(query, { name: 'evil.shop.test' })],
    ['it is a question itself', (query) => query],
    ['it is too short', (query) => query.subarray(0, 7)],
    ['it is only a header', (query) => responseTo(query, {}).fill(0, 4).subarray(0, 12)],
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
    // The stranger knows id and question, and speaks first: there is no such name.
    const server = await openRaw((query, reply, { port, address }) =>
      stranger.send(responseTo(query, { flags: 0x0403 }), port, address, () =>
        reply(responseTo(query)),
      ),
    );
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
  });

  it('its id is wrong every time: that is no answer at all', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, 'A', 'wrong_id');
    expect(await openWire({ timeoutMs: 50 }).ask(question, dns)).toEqual({ kind: 'timeout' });
  });
});

describe('a server that does not answer', () => {
  it('is asked once more, this time without EDNS', async () => {
    const extras: (number | undefined)[] = [];
    const server = await openRaw((query, reply) => {
      extras.push(decode(query).additionals?.length);
      if (extras.length === 2) reply(responseTo(query));
    });
    expect(await openWire({ timeoutMs: 250 }).ask(question, server)).toMatchObject(rightAnswer);
    expect(extras).toEqual([1, 0]);
  });

  it('is given up after two tries', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, '*', 'timeout');
    expect(await openWire({ timeoutMs: 50 }).ask(question, dns)).toEqual({ kind: 'timeout' });
    expect(asked(dns)).toEqual(['docs.shop.test A', 'docs.shop.test A']);
  });

  it('may still answer the first try while the second one is under way', async () => {
    let first: Buffer | undefined;
    const server = await openRaw((query, reply) => {
      if (first === undefined) first = query;
      else reply(responseTo(first));
    });
    expect(await openWire({ timeoutMs: 250 }).ask(question, server)).toMatchObject(rightAnswer);
  });

  it.each<[string, (query: Buffer) => Buffer]>([
    ['with the question', (query) => responseTo(query, { flags: 1 })],
    ['with a header only', (query) => responseTo(query, { flags: 1 }).fill(0, 4).subarray(0, 12)],
  ])('but says FORMERR %s is asked without EDNS', async (_how, formerr) => {
    let asks = 0;
    const server = await openRaw((query, reply) =>
      reply(asks++ === 0 ? formerr(query) : responseTo(query)),
    );
    expect(await openWire().ask(question, server)).toMatchObject(rightAnswer);
    expect(asks).toBe(2);
  });

  it('costs nothing at all once the deadline has passed', async () => {
    const dns = await openDns(zones);
    const late = startBudget({ ...defaultLimits, ms: -1 });
    expect(await openWire().ask(question, dns, { budget: late })).toEqual({ kind: 'timeout' });
    expect(asked(dns)).toEqual([]);
  });

  it('is left alone when whoever asked gives up', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, '*', 'timeout');
    const givingUp = new AbortController();
    const answer = openWire({ timeoutMs: 60_000 }).ask(question, dns, { signal: givingUp.signal });
    givingUp.abort();
    expect(await answer).toEqual({ kind: 'timeout' });
  });

  it('and whose address cannot be reached is a timeout at once', async () => {
    const answer = openWire({ timeoutMs: 60_000 }).ask(question, {
      address: '255.255.255.255',
      port: 9,
    });
    expect(await answer).toEqual({ kind: 'timeout' });
  });
});

describe('a wire', () => {
  it('settles what waits as a timeout when it is closed, and takes no more', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, '*', 'timeout');
    const wire = openWire({ timeoutMs: 60_000 });
    const waiting = [wire.ask(question, dns), wire.ask(question, dns)];
    wire.close();
    expect(await Promise.all([...waiting, wire.ask(question, dns)])).toEqual(
      Array(3).fill({ kind: 'timeout' }),
    );
  });

  it('answers many at once, from changing ports and with ids that do not repeat', async () => {
    const ports = new Set<number>();
    const ids = new Set<number>();
    const server = await openRaw((query, reply, { port }) => {
      ports.add(port);
      ids.add(query.readUInt16BE(0));
      reply(responseTo(query));
    });
    const wire = openWire({ socketsPerFamily: 4, usesPerSocket: 20, timeoutMs: 2_000 });
    const answers = await Promise.all(
      Array.from({ length: 400 }, () => wire.ask(question, server)),
    );
    expect(answers.every(({ kind }) => kind === 'response')).toBe(true);
    expect(ports.size).toBeGreaterThan(15);
    expect(ids.size).toBeGreaterThan(350);
  });

  it('refuses to ask for what is no name', async () => {
    const dns = await openDns(zones);
    await expect(openWire().ask({ ...question, name: 'a..b' }, dns)).rejects.toThrow(RangeError);
  });
});
