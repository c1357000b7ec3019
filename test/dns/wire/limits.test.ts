import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits, type Limits, spent, startBudget } from '../../../src/dns/wire/budget.ts';
import {
  closeAll,
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

const texts = Array.from({ length: 100 }, (_, i) => `docs TXT "${i} ${'x'.repeat(200)}"`);
const textQuestion = { ...question, type: 'TXT' } as const;
const allow = (limits: Partial<Limits>) => startBudget({ ...defaultLimits, ...limits });

/** Answers correctly over TCP and counts the connections; `closes`: after each answer. */
function countingAnswers({ closes = false } = {}) {
  const seen = { connections: 0 };
  const serve = (socket: Socket) => {
    seen.connections++;
    socket.on('data', (bytes) => {
      for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at)) {
        const answer = responseTo(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at)));
        socket.write(Buffer.concat([Buffer.from([0, answer.length]), answer]));
        if (closes) socket.end();
      }
    });
  };
  return { seen, serve };
}

describe('the budget of a query', () => {
  it('counts every response byte, over UDP and TCP, and every message sent', async () => {
    const dns = await openDns({ 'shop.test': texts });
    const budget = startBudget(defaultLimits);
    const answer = await openWire().ask(textQuestion, dns, { budget });
    expect(answer).toMatchObject({ kind: 'response', via: 'tcp' });
    const { bytes, questions, ms } = spent(budget, defaultLimits);
    expect(questions).toBe(2);
    expect(bytes).toBeGreaterThan(100 * 200);
    expect(ms).toBeGreaterThanOrEqual(0);

    const exactly = allow({ bytes });
    expect(await openWire().ask(textQuestion, dns, { budget: exactly })).toMatchObject({
      via: 'tcp',
    });
    const short = allow({ bytes: bytes - 1 });
    expect(await openWire().ask(textQuestion, dns, { budget: short })).toEqual({
      kind: 'timeout',
      responded: true,
      cutOff: true,
    });
  });

  it('counts retries of all kinds', async () => {
    const server = await openRaw((query, reply) => {
      const name = nameIn(query).toLowerCase();
      const isMixed = name !== nameIn(query);
      reply(isMixed ? responseTo(query, { name, flags: 1 }) : responseTo(query));
    });
    const budget = startBudget(defaultLimits);
    const name = `${'docs.'.repeat(30)}shop.test`;
    await openWire().ask({ ...question, name }, server, { budget });
    expect(spent(budget, defaultLimits).questions).toBe(2);
  });

  it('causes a timeout at once when too many bytes arrive over UDP, even without a valid response', async () => {
    // The ID is right and the question is not, a thousand octets each time.
    const server = await openRaw((query, reply) => {
      const wrong = Buffer.concat([query.subarray(0, 12), Buffer.alloc(988)]);
      for (let i = 0; i < 3; i++) reply(wrong);
    });
    const budget = allow({ bytes: 2_500 });
    const answer = await openWire({ timeoutMs: 60_000 }).ask(question, server, { budget });
    expect(answer).toEqual({ kind: 'timeout', cutOff: true });
    expect(budget.bytesLeft).toBe(-500);
  });

  it.each<[string, (socket: Socket) => void, object]>([
    ['closes the connection without a response', (socket) => socket.end(), {}],
    [
      'disconnects in the middle of a response',
      (socket) => socket.end(Buffer.from([1, 0, 7, 7])),
      {},
    ],
    ['sends more than the limit', (socket) => pour(socket), { cutOff: true }],
  ])('causes a timeout at once when a server %s over TCP', async (_how, behave, whose) => {
    const server = await openTruncating(behave);
    const budget = allow({ bytes: 20_000 });
    const wire = openWire({ timeoutMs: 60_000, tcpTimeoutMs: 60_000 });
    expect(await wire.ask(question, server, { budget })).toEqual({
      kind: 'timeout',
      responded: true,
      ...whose,
    });
    expect(budget.bytesLeft).toBeGreaterThan(-4096);
  });

  it('limits the time over TCP', async () => {
    const server = await openTruncating(() => {});
    const wire = openWire({ timeoutMs: 60_000, tcpTimeoutMs: 60_000 });
    // Enough for the answer over UDP on a busy machine.
    const budget = allow({ ms: 300 });
    expect(await wire.ask(question, server, { budget })).toEqual({
      kind: 'timeout',
      responded: true,
      cutOff: true,
    });
  });
});

describe('a server that truncates', () => {
  it('is queried over one connection per check, and no longer over UDP', async () => {
    const { seen, serve } = countingAnswers();
    const server = await openTruncating(serve);
    const [budget, wire] = [startBudget(defaultLimits), openWire()];
    expect(await wire.ask(question, server, { budget })).toMatchObject(rightAnswer);
    const names = ['a.shop.test', 'b.shop.test', 'c.shop.test'];
    const answers = await Promise.all(
      names.map((name) => wire.ask({ ...question, name }, server, { budget })),
    );
    expect(
      answers.map((answer) => answer.kind === 'response' && answer.message.question?.name),
    ).toEqual(names);
    expect(seen.connections).toBe(1);
    // One over UDP, four over TCP.
    expect(spent(budget, defaultLimits).questions).toBe(5);
  });

  it('gets a new connection per query if it closes each after the answer', async () => {
    const { seen, serve } = countingAnswers({ closes: true });
    const server = await openTruncating(serve);
    const [budget, wire] = [startBudget(defaultLimits), openWire()];
    for (let i = 0; i < 3; i++) {
      expect(await wire.ask(question, server, { budget })).toMatchObject(rightAnswer);
    }
    expect(seen.connections).toBe(3);
  });

  it('does not share its connection with other servers or the next check', async () => {
    const { seen, serve } = countingAnswers();
    const one = await openTruncating(serve);
    const other = await openTruncating(serve, '127.0.0.2');
    const [budget, wire] = [startBudget(defaultLimits), openWire()];
    for (const server of [one, other, one]) {
      expect(await wire.ask(question, server, { budget })).toMatchObject(rightAnswer);
    }
    const next = startBudget(defaultLimits);
    expect(await wire.ask(question, one, { budget: next })).toMatchObject(rightAnswer);
    expect(seen.connections).toBe(3);
  });

  it('gets a new connection per query without a budget', async () => {
    const { seen, serve } = countingAnswers();
    const server = await openTruncating(serve);
    const wire = openWire();
    for (let i = 0; i < 3; i++) expect(await wire.ask(question, server)).toMatchObject(rightAnswer);
    expect(seen.connections).toBe(3);
  });
});

describe('a server that is silent over UDP', () => {
  it('is queried over TCP, and from then on directly', async () => {
    const { seen, serve } = countingAnswers();
    const server = await openTruncating(serve, '127.0.0.1', 'silent');
    const [budget, wire] = [startBudget(defaultLimits), openWire({ timeoutMs: 100 })];
    expect(await wire.ask(question, server, { budget })).toMatchObject({
      ...rightAnswer,
      via: 'tcp',
    });
    const before = spent(budget, defaultLimits).questions;
    expect(await wire.ask(question, server, { budget })).toMatchObject(rightAnswer);
    expect(spent(budget, defaultLimits).questions).toBe(before + 1);
    expect(seen.connections).toBe(1);
  });

  it('is tried over TCP once per check if it is silent there, too', async () => {
    const seen = { connections: 0 };
    const server = await openTruncating(() => seen.connections++, '127.0.0.1', 'silent');
    const [budget, wire] = [
      startBudget(defaultLimits),
      openWire({ timeoutMs: 50, tcpTimeoutMs: 50 }),
    ];
    for (let i = 0; i < 2; i++) {
      expect(await wire.ask(question, server, { budget })).toEqual({ kind: 'timeout' });
    }
    expect(seen.connections).toBe(1);
    expect(spent(budget, defaultLimits).questions).toBe(5);
  });
});

/** Announces the longest possible message and sends endlessly. */
function pour(socket: Socket): void {
  const more = () => {
    while (socket.writable && socket.write(Buffer.alloc(65_535, 0xff)));
  };
  socket.on('drain', more);
  more();
}
