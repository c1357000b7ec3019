/** The laboratory's answers as bytes, with the faults it was told to have. */
import { type Answer, type DecodedPacket, decode, encode } from 'dns-packet';
import type { Handler, Transport } from './listener.ts';
import type { Reply, ZoneTree } from './zone-tree.ts';

/**
 * `nxdomain` and `nodata` deny what is there; `timeout` says nothing; `truncate` only over UDP; `garbage` repeats id and
 * question, then nonsense; `flood` is truncated over UDP, and garbage of 40,000 octets over TCP.
 */
export type LabFault =
  | 'servfail'
  | 'refused'
  | 'nxdomain'
  | 'nodata'
  | 'timeout'
  | 'truncate'
  | 'garbage'
  | 'flood'
  | 'wrong_id';

/** One query as it arrived, the name in lower case; a retry is a query of its own. */
export type LabQuestion = {
  readonly name: string;
  readonly type: string;
  readonly recursionDesired: boolean;
  readonly transport: Transport;
};

/** What the listeners of one laboratory share. */
export type Lab = {
  readonly lines: Map<string, readonly string[]>;
  /** By `name TYPE` or `name *`. */
  readonly faults: Map<string, LabFault>;
  readonly questions: LabQuestion[];
  /** Answers by everything of a query but its id: making each one again would be slow. */
  readonly prepared: Map<string, Prepared>;
  readonly addressAt: (depth: number) => string;
  tree: ZoneTree;
};

/** An answer without its id, which `idMask` may make a wrong one. */
type Prepared = {
  readonly asked: LabQuestion;
  readonly answer: Buffer | undefined;
  readonly idMask: number;
};

/** Bounds for a laboratory that a benchmark leaves running. */
const QUESTIONS_KEPT = 100_000;
const PREPARED_KEPT = 200_000;
const [GARBAGE_OCTETS, FLOOD_OCTETS] = [40, 40_000];
const UDP_OCTETS = 512; // without EDNS (RFC 1035, 2.3.4)
// RFC 1035, 4.1.1.
const [FLAG_AA, FLAG_TC, FLAG_RD, FLAG_RA] = [0x0400, 0x0200, 0x0100, 0x0080];
const failure = { authoritative: false, answers: [], authority: [], additional: [] } as const;

/** What the listener of a depth does with a query; what is no query gets no answer. */
export function handlerAt(lab: Lab, depth: number): Handler {
  return (query, transport) => {
    const key = `${depth}${transport}${query.toString('latin1', 2)}`;
    const prepared = lab.prepared.get(key) ?? prepare(lab, query, transport, depth);
    if (prepared === undefined) return undefined;
    if (lab.prepared.size >= PREPARED_KEPT) lab.prepared.clear();
    lab.prepared.set(key, prepared);
    if (lab.questions.length >= QUESTIONS_KEPT) lab.questions.splice(0, QUESTIONS_KEPT / 2);
    lab.questions.push(prepared.asked);
    return prepared.answer && withId(prepared.answer, query.readUInt16BE(0) ^ prepared.idMask);
  };
}

/** Works an answer out: what the zones say, unless the name has a fault. */
function prepare(
  lab: Lab,
  bytes: Buffer,
  transport: Transport,
  depth: number,
): Prepared | undefined {
  const query = decodeQuery(bytes);
  const question = query?.questions?.[0];
  if (query === undefined || question === undefined) return undefined;
  const name = question.name.toLowerCase();
  const asked = { name, type: question.type, recursionDesired: query.flag_rd, transport };
  const fault = lab.faults.get(`${name} ${question.type}`) ?? lab.faults.get(`${name} *`);
  // Whoever desires recursion gets it; there is no access list in a laboratory.
  const reply = query.flag_rd
    ? lab.tree.resolve(name, question.type)
    : lab.tree.answer(name, question.type, depth);
  return {
    asked,
    answer: toBytes(query, reply, transport, fault),
    idMask: fault === 'wrong_id' ? 1 : 0,
  };
}

function decodeQuery(bytes: Buffer): DecodedPacket | undefined {
  try {
    const packet = decode(bytes);
    return packet.type === 'query' && packet.questions?.length === 1 ? packet : undefined;
  } catch {
    return undefined;
  }
}

function toBytes(
  query: DecodedPacket,
  reply: Reply,
  transport: Transport,
  fault: LabFault | undefined,
): Buffer | undefined {
  switch (fault) {
    case 'timeout':
      return undefined;
    case 'servfail':
      return encodeReply(query, { ...failure, rcode: 2 });
    case 'refused':
      return encodeReply(query, { ...failure, rcode: 5 });
    case 'nxdomain':
    case 'nodata':
      return encodeReply(query, {
        ...failure,
        rcode: fault === 'nxdomain' ? 3 : 0,
        authoritative: !query.flag_rd,
      });
    case 'garbage':
      return garbage(query, GARBAGE_OCTETS);
    case 'flood':
      return transport === 'tcp'
        ? garbage(query, FLOOD_OCTETS)
        : fitting(query, reply, transport, true);
    case 'truncate':
    case 'wrong_id':
    case undefined:
      return fitting(query, reply, transport, fault === 'truncate');
  }
}

/** The whole answer, or over UDP an empty truncated one where it does not fit (RFC 2181, 9). */
function fitting(query: DecodedPacket, reply: Reply, transport: Transport, cut: boolean): Buffer {
  const whole = encodeReply(query, reply);
  const opt = query.additionals?.find((record) => record.type === 'OPT');
  const room = opt?.type === 'OPT' ? Math.max(UDP_OCTETS, opt.udpPayloadSize) : UDP_OCTETS;
  if (transport === 'tcp' || (!cut && whole.length <= room)) return whole;
  const truncated = encodeReply(query, { ...failure, rcode: reply.rcode });
  truncated.writeUInt16BE(truncated.readUInt16BE(2) | FLAG_TC, 2);
  return truncated;
}

/** Passes every check of who answers what, and cannot be read. */
function garbage(query: DecodedPacket, octets: number): Buffer {
  const bytes = encodeReply({ ...query, additionals: [] }, { ...failure, rcode: 0 });
  bytes.writeUInt16BE(3, 6); // three answers are announced, and none can be read
  return Buffer.concat([bytes, Buffer.alloc(octets, 0xff)]);
}

/** EDNS is answered with EDNS (RFC 6891, 7). */
function encodeReply(query: DecodedPacket, reply: Reply): Buffer {
  const edns = query.additionals?.some((record) => record.type === 'OPT') ?? false;
  const recursion = query.flag_rd ? FLAG_RD | FLAG_RA : 0;
  return encode({
    type: 'response',
    id: 0,
    flags: reply.rcode | recursion | (reply.authoritative ? FLAG_AA : 0),
    questions: [...(query.questions ?? [])],
    answers: [...reply.answers],
    authorities: [...reply.authority],
    additionals: [...reply.additional, ...(edns ? [opt] : [])],
  });
}

const opt: Answer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 1232,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

function withId(answer: Buffer, id: number): Buffer {
  const copy = Buffer.from(answer);
  copy.writeUInt16BE(id & 0xffff, 0);
  return copy;
}
