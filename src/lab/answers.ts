/** Responses as bytes, prepared once for queries that differ only in id and letter case. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EncodeOptions, encodeReply } from './encode.ts';
import type { ActiveFault, FaultBook, FaultWithDetail, LabFault, SimpleFault } from './faults.ts';
import type { Delivery, DnsTransport, Handler } from './listener.ts';
import {
  HEADER_LENGTH,
  type LabQuery,
  questionNameEnd,
  readQuery,
  sameAnswerKey,
} from './query.ts';
import { type LabRecord, parseRecord } from './zone.ts';
import type { LabReply, ZoneTree } from './zone-tree.ts';

/** The name is in lower case; each retry is a separate query. */
export type LabQuestion = {
  readonly name: string;
  /** As in dns-packet: `CNAME`, or `UNKNOWN_` and the number for an unknown type. */
  readonly type: string;
  /** The RD flag: set, the recursive role answers; clear, the authority does. */
  readonly recursionDesired: boolean;
  readonly transport: DnsTransport;
  /** Which of the test lab's addresses received it. */
  readonly address: string;
  /** Whether it had EDNS, and the DO and CD flags (RFC 4035, 3.2). */
  readonly edns: boolean;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
};

export type Lab = {
  /** Declared zones: name → lines. A change replaces all lines of a zone. */
  readonly lines: Map<string, readonly string[]>;
  /** Zones with different contents in the recursive role. */
  readonly known: Map<string, readonly string[]>;
  readonly faults: FaultBook;
  /** Every readable query, answered or not, oldest first. */
  readonly questions: LabQuestion[];
  /** Keyed by the query without its id and letter case, for speed. */
  readonly prepared: Map<string, Prepared>;
  /** Zones whose answers have the AD flag in the recursive role. */
  readonly signed: ReadonlySet<string>;
  /** Depth 0 is the test lab's own address. */
  readonly addressAt: (depth: number) => string;
  readonly grow: (declared: ReadonlyMap<string, readonly string[]>) => ZoneTree;
  /** Of the authority: `lines`. */
  tree: ZoneTree;
  /** Of the recursive role: `lines`, with zones replaced by those of `known`. */
  knownTree: ZoneTree;
};

type Prepared = {
  readonly asked: LabQuestion;
  readonly answer: Buffer | undefined;
  readonly idMask: number;
  /** Whether to repeat the query's letter case. */
  readonly keepsCase: boolean;
  readonly way: Delivery['way'];
  /** Called for each query; undefined if the response is sent at once. */
  readonly wait: (() => Promise<unknown>) | undefined;
};

/** Bounds for a long benchmark. At the first, the older half is dropped; at the second, all. */
const QUESTIONS_KEPT = 100_000;
const PREPARED_KEPT = 200_000;

/** Determined before it returns: a held response reflects the time of its query. */
export function handlerAt(lab: Lab, depth: number): Handler {
  return (query, transport) => {
    const nameEnd = questionNameEnd(query);
    if (nameEnd === undefined) return undefined;
    const key = `${depth}${transport}${sameAnswerKey(query, nameEnd)}`;
    const prepared = lab.prepared.get(key) ?? prepare(lab, query, transport, depth);
    if (prepared === undefined) return undefined;
    if (lab.prepared.size >= PREPARED_KEPT) lab.prepared.clear();
    lab.prepared.set(key, prepared);
    if (lab.questions.length >= QUESTIONS_KEPT) lab.questions.splice(0, QUESTIONS_KEPT / 2);
    lab.questions.push(prepared.asked);
    return deliveryOf(prepared, query, nameEnd);
  };
}

function deliveryOf(prepared: Prepared, query: Buffer, nameEnd: number): Delivery {
  const { answer, idMask, keepsCase, way, wait } = prepared;
  if (answer === undefined) return { bytes: undefined, way, after: wait?.() };
  // The prepared response is shared, so id and letter case go into a copy.
  const bytes = Buffer.from(answer);
  bytes.writeUInt16BE((query.readUInt16BE(0) ^ idMask) & 0xffff, 0);
  if (keepsCase) query.copy(bytes, HEADER_LENGTH, HEADER_LENGTH, nameEnd);
  return { bytes, way, after: wait?.() };
}

function prepare(
  lab: Lab,
  bytes: Buffer,
  transport: DnsTransport,
  depth: number,
): Prepared | undefined {
  const query = readQuery(bytes);
  if (query === undefined) return undefined;
  const { name, type, recursionDesired } = query;
  const active = lab.faults.find(name, type, recursionDesired ? 'recursive' : 'authority');
  // Recursion is available to every client.
  const reply = recursionDesired
    ? lab.knownTree.resolve(name, type)
    : lab.tree.answer(name, type, depth);
  const fault = active?.fault;
  return {
    asked: questionOf(query, transport, lab.addressAt(depth)),
    answer: responseTo({ query, reply, transport, fault, signed: isSigned(lab, name) }),
    idMask: fault === 'wrong_id' ? 1 : 0,
    keepsCase: fault !== 'lower_case' && fault !== 'wrong_question',
    way: wayOf(fault, transport),
    wait: active && waitFor(active),
  };
}

function questionOf(query: LabQuery, transport: DnsTransport, address: string): LabQuestion {
  const { name, type, recursionDesired, edns, checkingDisabled } = query;
  const dnssecOk = edns?.dnssecOk === true;
  return {
    name,
    type,
    recursionDesired,
    transport,
    address,
    edns: edns !== null,
    dnssecOk,
    checkingDisabled,
  };
}

function isSigned({ signed }: Lab, name: string): boolean {
  return [...signed].some((zone) => name === zone || name.endsWith(`.${zone}`));
}

function wayOf(fault: LabFault | undefined, transport: DnsTransport): Delivery['way'] {
  if (fault === 'no_tcp' && transport === 'tcp') return 'hang_up';
  return fault === 'wrong_source' && transport === 'udp' ? 'wrong_source' : 'straight';
}

function waitFor({ fault, released }: ActiveFault): (() => Promise<unknown>) | undefined {
  if (fault === 'hold') return () => released;
  if (typeof fault === 'string' || fault.kind !== 'delay') return undefined;
  // Pending waits don't keep the process alive.
  return () => sleep(fault.ms, undefined, { ref: false });
}

type ResponseParts = {
  readonly query: LabQuery;
  /** The zones' reply, before any fault. */
  readonly reply: LabReply;
  readonly transport: DnsTransport;
  readonly fault: LabFault | undefined;
  /** Whether the name is in a zone with validated signatures. */
  readonly signed: boolean;
};

const UDP_OCTETS = 512; // without EDNS (RFC 1035, 2.3.4)
/** Unreadable data after the question: a little, and more than UDP or any response has. */
const [GARBAGE_OCTETS, FLOOD_OCTETS] = [40, 40_000];
// RFC 1035, 4.1.1.
const [NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED] = [0, 1, 2, 3, 4, 5];

const nothing = { authoritative: false, answers: [], authority: [], additional: [] } as const;

/** Id 0; undefined sends nothing. Throws for a `remembered` fault with an invalid line. */
function responseTo(parts: ResponseParts): Buffer | undefined {
  const { fault } = parts;
  if (fault === undefined) return truthful(parts);
  return typeof fault === 'string' ? simpleFaults[fault](parts) : faultWithDetail(parts, fault);
}

/** AD if the answer is validated and the query does not disable it (RFC 6840, 5.7). */
function truthful(parts: ResponseParts): Buffer {
  const { query, signed } = parts;
  const wanted = query.authenticData || query.edns?.dnssecOk === true;
  const authenticData = signed && query.recursionDesired && !query.checkingDisabled && wanted;
  return fitting(parts, { authenticData });
}

type Misbehave = (parts: ResponseParts) => Buffer | undefined;

/** Still truncated if too long for UDP. */
const withReply =
  (change: (parts: ResponseParts) => Partial<LabReply>): Misbehave =>
  (parts) =>
    fitting({ ...parts, reply: { ...parts.reply, ...change(parts) } });

/** Denies existence like the responsible server: with the AA flag unless recursive. */
const denies = (rcode: number): Misbehave =>
  withReply(({ query }) => ({ ...nothing, rcode, authoritative: !query.recursionDesired }));

const fails = (rcode: number): Misbehave => withReply(() => ({ ...nothing, rcode }));

const simpleFaults: { readonly [F in SimpleFault]: Misbehave } = {
  servfail: fails(SERVFAIL),
  refused: fails(REFUSED),
  notimp: fails(NOTIMP),
  nxdomain: denies(NXDOMAIN),
  nodata: denies(NOERROR),
  timeout: () => undefined,
  not_authoritative: withReply(() => ({ authoritative: false })),
  upward_referral: withReply(() => ({ ...nothing, rcode: NOERROR, authority: [rootServer] })),
  endless_alias: withReply(({ query }) => ({
    ...nothing,
    rcode: NOERROR,
    authoritative: !query.recursionDesired,
    answers: [furtherAlias(query.name)],
  })),
  formerr_edns: (parts) =>
    parts.query.edns === null
      ? truthful(parts)
      : encodeReply(parts.query, { ...nothing, rcode: FORMERR }, { withoutEdns: true }),
  truncate: (parts) => (parts.transport === 'tcp' ? truthful(parts) : cut(parts)),
  no_tcp: (parts) => (parts.transport === 'tcp' ? undefined : cut(parts)),
  garbage: ({ query }) => garbage(query, GARBAGE_OCTETS),
  flood: (parts) => (parts.transport === 'tcp' ? garbage(parts.query, FLOOD_OCTETS) : cut(parts)),
  wrong_question: (parts) => withOtherQuestion(truthful(parts)),
  lower_case: (parts) => truthful({ ...parts, query: inLowerCase(parts.query) }),
  // The fault is not in the message.
  wrong_id: truthful,
  wrong_source: truthful,
  hold: truthful,
};

function faultWithDetail(parts: ResponseParts, fault: FaultWithDetail): Buffer {
  switch (fault.kind) {
    case 'delay':
      return truthful(parts);
    case 'bogus':
      if (parts.query.checkingDisabled) return truthful(parts);
      return encodeReply(parts.query, { ...nothing, rcode: SERVFAIL }, { errors: fault.errors });
    case 'servfail':
      return encodeReply(parts.query, { ...nothing, rcode: SERVFAIL }, { errors: fault.errors });
    case 'remembered':
      return fitting({ ...parts, reply: rememberedReply(parts.query, fault) });
  }
}

/** The whole response, or over UDP an empty truncated one if it does not fit (RFC 2181, 9). */
function fitting(parts: ResponseParts, options: EncodeOptions = {}): Buffer {
  const { query, reply, transport } = parts;
  const whole = encodeReply(query, reply, options);
  const room = Math.max(UDP_OCTETS, query.edns?.payloadOctets ?? 0);
  return transport === 'tcp' || whole.length <= room ? whole : cut(parts);
}

function cut({ query, reply }: ResponseParts): Buffer {
  return encodeReply(query, { ...nothing, rcode: reply.rcode }, { truncated: true });
}

/** Passes every check of id, question and source, but cannot be parsed. */
function garbage(query: LabQuery, octets: number): Buffer {
  const bytes = encodeReply(query, { ...nothing, rcode: NOERROR }, { withoutEdns: true });
  // ANCOUNT is at offset 6 (RFC 1035, 4.1.1).
  bytes.writeUInt16BE(3, 6); // announces three answers that cannot be parsed
  return Buffer.concat([bytes, Buffer.alloc(octets, 0xff)]);
}

function withOtherQuestion(response: Buffer): Buffer {
  // The question starts with the length of its first label, followed by its first letter.
  const at = HEADER_LENGTH + 1;
  response.writeUInt8(response.readUInt8(at) ^ 1, at);
  return response;
}

function inLowerCase(query: LabQuery): LabQuery {
  const tail = query.question.subarray(-4); // type and class are not letters
  const name = query.question.subarray(0, -4).map((octet) => octet | (isCapital(octet) ? 0x20 : 0));
  return { ...query, question: Buffer.concat([name, tail]) };
}

function isCapital(octet: number): boolean {
  return octet >= 0x41 && octet <= 0x5a;
}

/** As servers used to answer for zones that they don't have (RFC 4697, 2.2.1). */
const rootServer: LabRecord = {
  type: 'NS',
  name: '',
  ttl: 518_400,
  data: 'a.root-servers.net',
};

/** `docs.shop.test` leads to `n1.docs.shop.test`, that to `n2.docs.shop.test`. */
function furtherAlias(name: string): LabRecord {
  const [, number = '0', rest = name] = /^n(\d+)\.(.+)$/.exec(name) ?? [];
  return { type: 'CNAME', name, ttl: 60, data: `n${Number(number) + 1}.${rest}` };
}

/** A resolver with an old answer in its cache, with the remaining TTL (RFC 2308, 5). */
function rememberedReply(
  { name, type, recursionDesired }: LabQuery,
  { lines, ttlSeconds, nothing: missing = 'nxdomain' }: FaultOf<'remembered'>,
): LabReply {
  const authoritative = !recursionDesired;
  const records = lines
    .map((line) => ({ ...parseRecord(name, line), ttl: ttlSeconds }))
    .filter((record) => record.type === type || record.type === 'CNAME');
  if (records.length > 0) return { ...nothing, authoritative, rcode: NOERROR, answers: records };
  const rcode = lines.length === 0 && missing === 'nxdomain' ? NXDOMAIN : NOERROR;
  const above = name.slice(name.indexOf('.') + 1);
  const soa = `@ ${ttlSeconds} SOA ns1 hostmaster 1 3600 600 86400 ${ttlSeconds}`;
  return { ...nothing, authoritative, rcode, authority: [parseRecord(above, soa)] };
}

type FaultOf<K extends FaultWithDetail['kind']> = Extract<FaultWithDetail, { readonly kind: K }>;
