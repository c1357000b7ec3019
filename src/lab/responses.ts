import { type EncodeOptions, encodeReply } from './encode.ts';
import type { FaultWithDetail, LabFault, SimpleFault } from './faults.ts';
import type { DnsTransport } from './listener.ts';
import { HEADER_LENGTH, type LabQuery } from './query.ts';
import { type LabRecord, parseRecord } from './zone.ts';
import type { LabReply } from './zone-tree.ts';

export type ResponseParts = {
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
export function responseTo(parts: ResponseParts): Buffer | undefined {
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
