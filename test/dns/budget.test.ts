import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits, startBudget } from '../../src/dns/budget.ts';
import { createWire } from '../../src/dns/wire/wire.ts';
import { asked, atTheEnd, closeAll, openDns, openLaboratory, PATIENCE_MS } from './laboratory.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const edge = ['p1 A 192.0.2.10'];
const subdomain = { hostname, target, apex: false };

describe('a look', () => {
  it('costs no more questions than allowed, and the rest is a timeout', async () => {
    const zones = { 'shop.test': ['docs CNAME p1.edge.test.'], 'edge.test': edge };
    const limits = { ...defaultLimits, questions: 4 };
    const { dns, observer } = await openLaboratory(zones, { limits });
    const { caa } = await observer.observe(subdomain);
    expect(asked(dns)).toHaveLength(4);
    expect(caa).toEqual([{ name: hostname, answer: { kind: 'timeout' } }]);
  });

  it('counts retries and questions over TCP, too', async () => {
    const zones = { 'shop.test': ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.1'] };
    const limits = { ...defaultLimits, questions: 6 };
    const { dns, observer } = await openLaboratory(zones, { limits, timeoutMs: 50 });
    dns.fail('shop.test', 'NS', 'truncate');
    dns.fail(hostname, 'A', 'timeout');
    await observer.observe(subdomain);
    // Eight would be sent: one again over TCP, and two more because nobody answers.
    expect(dns.questions).toHaveLength(6);
    expect(dns.questions.filter(({ transport }) => transport === 'tcp')).toHaveLength(1);
  });

  it('takes no longer than allowed, however slow the servers are', async () => {
    const zones = { 'shop.test': ['docs A 192.0.2.1'] };
    const limits = { ...defaultLimits, ms: 150 };
    const { dns, observer } = await openLaboratory(zones, { limits, timeoutMs: 60_000 });
    dns.fail(hostname, '*', 'timeout');
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ cname: { kind: 'timeout' } }]);
  });

  it('leaves a failure because its time ran out unremembered for others', async () => {
    const zones = { 'shop.test': ['docs CNAME p1.edge.test.'], 'edge.test': edge };
    const limits = { ...defaultLimits, ms: 150 };
    const { dns, observer } = await openLaboratory(zones, { limits, timeoutMs: 60_000 });
    dns.fail('shop.test', 'NS', 'timeout');
    const late = await observer.observe(subdomain);
    expect(late.servers).toMatchObject([{ server: '127.0.0.1', cname: { kind: 'timeout' } }]);
    dns.heal();
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ server: 'ns1.shop.test', cname: { kind: 'records' } }]);
  });

  it('receives no more than 64 KiB of nonsense: the servers after that are not asked', async () => {
    const numbers = [1, 2, 3, 4];
    const lines = numbers.flatMap((n) => [`@ NS ns${n}`, `ns${n} A 127.0.0.1`]);
    const { dns, observer } = await openLaboratory({ 'shop.test': lines });
    dns.fail(hostname, 'A', 'flood'); // 40,000 octets each time
    const { servers } = await observer.observe(subdomain);
    expect(servers.map(({ server, cname }) => `${server} ${cname.kind}`)).toEqual([
      'ns1.shop.test servfail',
      'ns2.shop.test timeout',
      'ns3.shop.test timeout',
      'ns4.shop.test timeout',
    ]);
    expect(dns.questions.filter(({ name }) => name === hostname)).toHaveLength(4);
  });

  it.each([
    ['fits', 64, 'records'],
    ['does not fit', 32, 'timeout'],
  ])('takes a set of 54 KB where it %s: %i KiB allowed', async (_what, kib, kind) => {
    const lines = Array.from({ length: 90 }, (_, i) => `docs CAA 0 ca${i} "${'x'.repeat(600)}"`);
    const limits = { ...defaultLimits, bytes: kib * 1024 };
    const { observer } = await openLaboratory({ 'shop.test': lines }, { limits });
    const levels = await observer.lookupCaa(hostname);
    expect(levels).toMatchObject([{ name: hostname, answer: { kind } }]);
  });
});

describe('a question', () => {
  const question = { name: hostname, type: 'TXT', recursionDesired: false } as const;
  const texts = Array.from({ length: 100 }, (_, i) => `docs TXT "${i} ${'x'.repeat(200)}"`);
  const bytes = (limit: number) => startBudget({ ...defaultLimits, bytes: limit });

  function openWire() {
    const wire = createWire({ timeoutMs: PATIENCE_MS, tcpTimeoutMs: PATIENCE_MS });
    atTheEnd(wire.close);
    return wire;
  }

  it('takes every byte of its answer off, UDP and TCP alike', async () => {
    const dns = await openDns({ 'shop.test': texts });
    const budget = bytes(64 * 1024);
    const answer = await openWire().ask(question, dns, { budget });
    expect(answer).toMatchObject({ kind: 'response', via: 'tcp' });
    const received = 64 * 1024 - budget.bytesLeft;
    expect(received).toBeGreaterThan(100 * 200);
    expect(budget.questionsLeft).toBe(30);

    const exactly = bytes(received);
    expect(await openWire().ask(question, dns, { budget: exactly })).toMatchObject({ via: 'tcp' });
    const short = bytes(received - 1);
    expect(await openWire().ask(question, dns, { budget: short })).toEqual({ kind: 'timeout' });
  });

  it('is a timeout at once when what comes over UDP is too much, though it be no answer', async () => {
    const socket = createSocket('udp4');
    atTheEnd(() => socket.close());
    // The id is right and the question is not, a thousand octets each time.
    socket.on('message', (query, { port, address }) => {
      const wrong = Buffer.concat([query.subarray(0, 12), Buffer.alloc(988)]);
      for (let i = 0; i < 3; i++) socket.send(wrong, port, address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const budget = bytes(2_500);
    const wire = createWire({ timeoutMs: 60_000 });
    atTheEnd(wire.close);
    const answer = await wire.ask(question, socket.address(), { budget });
    expect(answer).toEqual({ kind: 'timeout' });
    expect(budget.bytesLeft).toBe(-500);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['hangs up without a word', (socket) => socket.end()],
    ['hangs up in the middle of its answer', (socket) => socket.end(Buffer.from([1, 0, 7, 7]))],
    ['pours out more than it is allowed', (socket) => pour(socket)],
  ])('is a timeout at once where a server %s over TCP', async (_how, behave) => {
    const server = createServer((socket) => {
      socket.on('error', () => {}); // it is cut off, which is the point
      atTheEnd(() => socket.destroy());
      behave(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atTheEnd(() => server.close());
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const udp = createSocket('udp4');
    atTheEnd(() => udp.close());
    udp.on('message', (query, source) => {
      query.writeUInt16BE(0x8200, 2); // an answer, truncated
      udp.send(query, source.port, source.address);
    });
    udp.bind(port, '127.0.0.1');
    await once(udp, 'listening');
    const budget = bytes(20_000);
    const wire = createWire({ timeoutMs: 60_000, tcpTimeoutMs: 60_000 });
    atTheEnd(wire.close);
    const answer = await wire.ask(question, { address: '127.0.0.1', port }, { budget });
    expect(answer).toEqual({ kind: 'timeout' });
    expect(budget.bytesLeft).toBeGreaterThan(-4096);
  });
});

/** Announces the longest message there is, and never stops. */
function pour(socket: Socket): void {
  const more = () => {
    while (socket.writable && socket.write(Buffer.alloc(65_535, 0xff)));
  };
  socket.on('drain', more);
  more();
}
