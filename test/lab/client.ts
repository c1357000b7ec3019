/** A raw DNS client that shows messages exactly. Shares no code with src/dns/. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode } from 'dns-packet';
import type { LabDnsServer } from '../../src/lab/dns-server.ts';

export type Query = {
  readonly name: string;
  readonly type?: 'A' | 'AAAA' | 'CAA' | 'CNAME' | 'SOA' | 'TXT' | 'NS';
  readonly id?: number;
  readonly recursionDesired?: boolean;
  readonly checkingDisabled?: boolean;
  readonly edns?: boolean;
  readonly dnssecOk?: boolean;
};

/** A message as received. `rcode` is a number, `errors` are extended ones as `code text`. */
export type Received = {
  readonly bytes: Buffer;
  readonly packet: DecodedPacket;
  readonly rcode: number;
  readonly authoritative: boolean;
  readonly authenticData: boolean;
  readonly errors: readonly string[];
  readonly from: RemoteInfo;
};

/** Sends over UDP and returns the responses in order. */
export function openClient(dns: Pick<LabDnsServer, 'address' | 'port'>) {
  const socket = createSocket(isIPv6(dns.address) ? 'udp6' : 'udp4');
  return {
    send: (query: Query) => socket.send(bytesOf(query), dns.port, dns.address),
    next: async (): Promise<Received> => {
      const message = await once(socket, 'message');
      return received(message[0], message[1]);
    },
    close: () => socket.close(),
  };
}

const [RD, CD, DNSSEC_OK] = [0x0100, 0x0010, 0x8000];

/** A query as this client sends it. */
export function bytesOf({ name, type = 'A', id = 7, ...flags }: Query): Buffer {
  const { recursionDesired = false, checkingDisabled = false, dnssecOk = false } = flags;
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 1232,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: dnssecOk ? DNSSEC_OK : 0,
    flag_do: dnssecOk,
    options: [],
  } as const satisfies Answer;
  return encode({
    type: 'query',
    id,
    flags: (recursionDesired ? RD : 0) | (checkingDisabled ? CD : 0),
    questions: [{ type, name }],
    additionals: flags.edns === true || dnssecOk ? [opt] : [],
  });
}

function received(bytes: Buffer, from: RemoteInfo): Received {
  const packet = readable(bytes);
  const flags = bytes.readUInt16BE(2);
  const opt = packet.additionals?.find((record) => record.type === 'OPT');
  return {
    bytes,
    packet,
    rcode: flags & 15,
    authoritative: packet.flag_aa,
    authenticData: packet.flag_ad,
    errors: opt?.type === 'OPT' ? opt.options.flatMap(extendedError) : [],
    from,
  };
}

/** An unreadable message has at least a header. */
function readable(bytes: Buffer): DecodedPacket {
  try {
    return decode(bytes);
  } catch {
    const header = Buffer.from(bytes.subarray(0, 12)).fill(0, 4);
    return decode(header);
  }
}

function extendedError(option: { readonly code: unknown; readonly data?: Buffer | undefined }) {
  if (option.code !== 15 || option.data === undefined) return [];
  return [`${option.data.readUInt16BE(0)} ${option.data.subarray(2).toString()}`];
}
