import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits, startBudget } from '../../../src/dns/wire/budget.ts';
import { noteNotRun } from '../../support/programs.ts';
import {
  closeAll,
  hasIpv6,
  openDns,
  openRaw,
  openTruncating,
  openWire,
  question,
  responseTo,
  rightAnswer,
} from './servers.ts';

afterEach(closeAll);

const zones = { 'shop.test': ['docs A 192.0.2.1'] };
const loopbacks = hasIpv6 ? ['127.0.0.1', '::1', '0:0:0:0:0:0:0:1'] : ['127.0.0.1'];
if (!hasIpv6) noteNotRun('DNS questions over IPv6', 'this host has no ::1');

describe('a response', () => {
  it.each(loopbacks)('over UDP has its round-trip time: from %s', async (address) => {
    const server = await openRaw((query, reply) => reply(responseTo(query)), address);
    const answer = await openWire().ask(question, server);
    expect(answer).toMatchObject({ ...rightAnswer, via: 'udp', rttMs: expect.any(Number) });
  });

  it.each(loopbacks)('with truncation is fetched over TCP: from %s', async (address) => {
    const server = await openTruncating((socket) => {
      socket.on('data', (bytes) => {
        const answer = responseTo(bytes.subarray(2));
        socket.write(Buffer.concat([Buffer.from([0, answer.length]), answer]));
      });
    }, address);
    expect(await openWire().ask(question, server)).toMatchObject({ ...rightAnswer, via: 'tcp' });
  });

  it('too large for UDP is fetched over TCP', async () => {
    const many = Array.from({ length: 200 }, (_, i) => `docs A 192.0.2.${i}`);
    const dns = await openDns({ 'shop.test': many });
    const answer = await openWire().ask(question, dns);
    expect(answer.kind === 'response' && answer.message.answers).toHaveLength(200);
    expect(dns.questions.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  it('with truncation is a timeout without TCP, but the server has responded', async () => {
    const server = await openRaw((query, reply) => reply(responseTo(query, { flags: 0x0600 })));
    expect(await openWire().ask(question, server)).toEqual({ kind: 'timeout', responded: true });
  });

  it('over TCP to another query is malformed, as only the server can have sent it', async () => {
    const server = await openTruncating((socket) => {
      socket.on('data', (bytes) => {
        const answer = responseTo(bytes.subarray(2), { name: 'evil.shop.test' });
        socket.write(Buffer.concat([Buffer.from([0, answer.length]), answer]));
      });
    });
    expect(await openWire().ask(question, server)).toEqual({ kind: 'malformed' });
  });

  it('of garbage over TCP is malformed', async () => {
    const garbage = Buffer.from([0, 14, ...Array(14).fill(0xff)]);
    const server = await openTruncating((socket) => socket.write(garbage));
    expect(await openWire().ask(question, server)).toEqual({ kind: 'malformed' });
  });

  it('with invalid records is malformed', async () => {
    const dns = await openDns(zones);
    dns.fail(question.name, 'A', 'garbage');
    expect(await openWire().ask(question, dns)).toEqual({ kind: 'malformed' });
  });

  it('has its time measured from the first try', async () => {
    let asks = 0;
    const server = await openRaw((query, reply) => ++asks === 2 && reply(responseTo(query)));
    const answer = await openWire({ timeoutMs: 200 }).ask(question, server);
    expect(answer.kind === 'response' && answer.rttMs >= 200).toBe(true);
  });
});

describe('a silent server', () => {
  it('times out after two tries', async () => {
    let asks = 0;
    const server = await openRaw(() => ++asks);
    expect(await openWire({ timeoutMs: 200 }).ask(question, server)).toEqual({ kind: 'timeout' });
    expect(asks).toBe(2);
  });

  it('can still answer the first try during the second one', async () => {
    let first: Buffer | undefined;
    const server = await openRaw((query, reply) => {
      if (first === undefined) first = query;
      else reply(responseTo(first));
    });
    expect(await openWire({ timeoutMs: 250 }).ask(question, server)).toMatchObject(rightAnswer);
  });

  it('receives no query after the deadline', async () => {
    let asks = 0;
    const server = await openRaw(() => ++asks);
    const late = startBudget({ ...defaultLimits, ms: -1 });
    expect(await openWire().ask(question, server, { budget: late })).toEqual({
      kind: 'timeout',
      cutOff: true,
    });
    expect(asks).toBe(0);
  });

  it('without a route is detected at once and not queried', async () => {
    const nowhere = { address: '255.255.255.255', port: 9 };
    const answer = openWire({ timeoutMs: 60_000 }).ask(question, nowhere);
    expect(await answer).toEqual({ kind: 'not_asked' });
  });
});

describe('a DNS client', () => {
  it('times out all waiting queries when it is closed, and accepts no more', async () => {
    const server = await openRaw(() => {});
    const wire = openWire({ timeoutMs: 60_000 });
    const waiting = [wire.ask(question, server), wire.ask(question, server)];
    wire.close();
    expect(await Promise.all([...waiting, wire.ask(question, server)])).toEqual(
      Array(3).fill({ kind: 'timeout' }),
    );
  });

  it('handles many queries at once with changing ports and unique IDs', async () => {
    const ports = new Set<number>();
    const ids = new Set<number>();
    const server = await openRaw((query, reply, { port }) => {
      ports.add(port);
      ids.add(query.readUInt16BE(0));
      reply(responseTo(query));
    });
    const wire = openWire({ socketsPerFamily: 4, usesPerSocket: 20, timeoutMs: 2_000 });
    // In groups, as the kernel drops what a slow reader leaves unread.
    for (let group = 0; group < 4; group++) {
      const answers = Array.from({ length: 100 }, () => wire.ask(question, server));
      for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(rightAnswer);
    }
    expect(ports.size).toBeGreaterThan(15);
    expect(ids.size).toBeGreaterThan(350);
  });

  it('can query one server more at once than a socket has room for', async () => {
    const queries: (() => void)[] = [];
    const server = await openRaw((query, reply) => {
      queries.push(() => reply(responseTo(query)));
      if (queries.length % 50 === 0) for (const answer of queries.splice(0)) answer();
    });
    const wire = openWire({ socketsPerFamily: 1, usesPerSocket: 1_000_000 });
    const answers: Promise<unknown>[] = [];
    for (let group = 0; group < 45; group++) {
      const some = Array.from({ length: 50 }, () => wire.ask(question, server));
      answers.push(...some);
      await Promise.all(some);
    }
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(rightAnswer);
  });

  it.each(['a..b', '', 'a b', 'bücher.test'])('refuses to query %j', async (name) => {
    const server = await openRaw(() => {});
    await expect(openWire().ask({ ...question, name }, server)).rejects.toThrow(RangeError);
  });
});
