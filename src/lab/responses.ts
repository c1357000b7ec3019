/** What a laboratory answers: its zones' reply, or what a fault makes of it. */
import { type EncodeOptions, encodeReply } from './encode.ts';
import type { FaultWithDetail, LabFault, SimpleFault } from './faults.ts';
import type { Transport } from './listener.ts';
import { HEADER_OCTETS, type LabQuery } from './query.ts';
import { type LabRecord, parseRecord } from './zone.ts';
import type { Reply } from './zone-tree.ts';

/** A query, what the zones say to it, and what is wrong with the server. */
export type ResponseParts = {
  readonly query: LabQuery;
  /** What the zones say, before any fault. */
  readonly reply: Reply;
  readonly transport: Transport;
  readonly fault: LabFault | undefined;
  /** Whether the name is in a zone whose signatures a resolver has checked. */
  readonly signed: boolean;
};

const UDP_OCTETS = 512; // without EDNS (RFC 1035, 2.3.4)
/** How much of what cannot be read follows the question: a little, and more than UDP or any answer has. */
const [GARBAGE_OCTETS, FLOOD_OCTETS] = [40, 40_000];
// RFC 1035, 4.1.1.
const [NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED] = [0, 1, 2, 3, 4, 5];

const nothing = { authoritative: false, answers: [], authority: [], additional: [] } as const;

/**
 * The bytes of a response with id 0, or undefined where the server is to be silent. A reply of the zones that does
 * not fit into UDP is truncated. Throws for a `remembered` fault with a line that cannot be read.
 */
export function responseTo(parts: ResponseParts): Buffer | undefined {
  const { fault } = parts;
  if (fault === undefined) return truthful(parts);
  return typeof fault === 'string' ? simpleFaults[fault](parts) : faultWithDetail(parts, fault);
}

/** The right answer; with the AD flag where a resolver has checked it and was not told not to (RFC 6840, 5.7). */
function truthful(parts: ResponseParts): Buffer {
  const { query, signed } = parts;
  const wanted = query.authenticData || query.edns?.dnssecOk === true;
  const authenticData = signed && query.recursionDesired && !query.checkingDisabled && wanted;
  return fitting(parts, { authenticData });
}

/** What a fault makes of the right answer; undefined for silence. */
type Misbehave = (parts: ResponseParts) => Buffer | undefined;

/** Changes parts of the right reply; what is too long for UDP is still truncated. */
const withReply =
  (change: (parts: ResponseParts) => Partial<Reply>): Misbehave =>
  (parts) =>
    fitting({ ...parts, reply: { ...parts.reply, ...change(parts) } });

/** Says that there is nothing, as whoever is responsible would: with the AA flag unless a resolver is asked. */
const denies = (rcode: number): Misbehave =>
  withReply(({ query }) => ({ ...nothing, rcode, authoritative: !query.recursionDesired }));

/** Answers with an RCODE alone. */
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
  // What is wrong with these is not in the message.
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

/** The whole answer, or over UDP an empty truncated one where it does not fit (RFC 2181, 9). */
function fitting(parts: ResponseParts, options: EncodeOptions = {}): Buffer {
  const { query, reply, transport } = parts;
  const whole = encodeReply(query, reply, options);
  const room = Math.max(UDP_OCTETS, query.edns?.payloadOctets ?? 0);
  return transport === 'tcp' || whole.length <= room ? whole : cut(parts);
}

function cut({ query, reply }: ResponseParts): Buffer {
  return encodeReply(query, { ...nothing, rcode: reply.rcode }, { truncated: true });
}

/** Passes every check of who answers what, and cannot be read. */
function garbage(query: LabQuery, octets: number): Buffer {
  const bytes = encodeReply(query, { ...nothing, rcode: NOERROR }, { withoutEdns: true });
  // ANCOUNT is at offset 6 (RFC 1035, 4.1.1).
  bytes.writeUInt16BE(3, 6); // three answers are announced, and none can be read
  return Buffer.concat([bytes, Buffer.alloc(octets, 0xff)]);
}

/** The first letter of the question is another one. */
function withOtherQuestion(response: Buffer): Buffer {
  // The first octet of the question is the length of its first label, the second one its first letter.
  const at = HEADER_OCTETS + 1;
  response.writeUInt8(response.readUInt8(at) ^ 1, at);
  return response;
}

function inLowerCase(query: LabQuery): LabQuery {
  const tail = query.question.subarray(-4); // type and class are no letters
  const name = query.question.subarray(0, -4).map((octet) => octet | (isCapital(octet) ? 0x20 : 0));
  return { ...query, question: Buffer.concat([name, tail]) };
}

function isCapital(octet: number): boolean {
  return octet >= 0x41 && octet <= 0x5a;
}

/** As servers answered in the past for zones that they do not have (RFC 4697, 2.2.1). */
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

/** What a server has instead: a resolver that kept it, with the time that it keeps it for (RFC 2308, 5). */
function rememberedReply(
  { name, type, recursionDesired }: LabQuery,
  { lines, ttlSeconds, nothing: missing = 'nxdomain' }: FaultOf<'remembered'>,
): Reply {
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
