/** Misbehaving name servers and a client for them; use `closeAll` in afterEach. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Answer, decode, encode } from 'dns-packet';
import { createWire, type Wire, type WireOptions } from '../../../src/dns/wire/wire.ts';
import { type LabDnsServer, startDnsServer } from '../../../src/lab/dns-server.ts';
import { freePort } from '../../support/servers.ts';

/** Tests with silent servers set a shorter timeout. */
const PATIENCE_MS = 10_000;

const open: (() => unknown)[] = [];

export async function closeAll(): Promise<void> {
  for (const close of open.splice(0)) await close();
}

export function atTheEnd(close: () => unknown): void {
  open.push(close);
}

export const question = { name: 'docs.shop.test', type: 'A', recursionDesired: false } as const;

export const rightAnswer = {
  kind: 'response',
  message: { answers: [{ name: question.name, address: '192.0.2.1' }] },
};

export function openWire(options: WireOptions = {}): Wire {
  const wire = createWire({ timeoutMs: PATIENCE_MS, tcpTimeoutMs: PATIENCE_MS, ...options });
  atTheEnd(wire.close);
  return wire;
}

export async function openDns(zones: Record<string, string[]>): Promise<LabDnsServer> {
  const dns = await startDnsServer({ zones });
  atTheEnd(dns.close);
  return dns;
}

type Reply = (bytes: Buffer) => void;
type OnQuery = (query: Buffer, reply: Reply, source: RemoteInfo) => void;

/** `answer` handles each query over UDP. TCP connections are refused. */
export async function openRaw(answer: OnQuery, address = '127.0.0.1', port = 0) {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.on('message', (query, source) =>
    answer(query, (bytes) => socket.send(bytes, source.port, source.address), source),
  );
  const listening = once(socket, 'listening');
  socket.bind(port, address);
  await listening;
  atTheEnd(() => socket.close());
  return { address, port: socket.address().port };
}

/** Truncates or drops everything over UDP; `serve` handles TCP connections at the same port. */
export async function openTruncating(
  serve: (socket: Socket) => void,
  address = '127.0.0.1',
  overUdp: 'truncated' | 'silent' = 'truncated',
) {
  const server = createServer((socket) => {
    socket.on('error', () => {}); // the client may close it
    atTheEnd(() => socket.destroy());
    serve(socket);
  });
  const port = await freePort(); // closes UDP and TCP
  server.listen(port, address);
  await once(server, 'listening');
  atTheEnd(() => server.close());
  const truncated: OnQuery = (query, reply) => {
    if (overUdp === 'truncated') reply(responseTo(query, { flags: 0x0600 }));
  };
  return openRaw(truncated, address, port);
}

export type Change = {
  readonly id?: number;
  readonly name?: string;
  readonly flags?: number;
  readonly answers?: readonly Answer[];
};

/** The right response, or a change of it, with the question in its original case. */
export function responseTo(query: Buffer, change: Change = {}): Buffer {
  const { id = 0, questions: [first] = [] } = decode(query);
  const name = change.name ?? first?.name ?? '';
  return encode({
    type: 'response',
    id: change.id ?? id,
    flags: change.flags ?? 0x0400,
    questions: [{ type: first?.type ?? 'A', name }],
    answers: [...(change.answers ?? [{ type: 'A', name, data: '192.0.2.1' }])],
  });
}

/** The query name in its original case. */
export function nameIn(query: Buffer): string {
  return decode(query).questions?.[0]?.name ?? '';
}

export function ednsIn(query: Buffer): number {
  return decode(query).additionals?.length ?? 0;
}

export const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
