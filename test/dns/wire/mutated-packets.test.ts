import { type Answer, encode } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  isAnswer,
  isAnswerInAnyCase,
  type QueryExchange,
  readAnswer,
} from '../../../src/dns/wire/exchange.ts';
import { decodeMessage, encodeQuestion, type Message } from '../../../src/dns/wire/message.ts';
import { MalformedMessage } from '../../../src/dns/wire/name.ts';
import { sizeOfRun } from '../../support/run.ts';

/** The name in every query, in the case sent, and the target of an alias. */
const [hostname, target] = ['docs.shop.test', 'p1.edge.test'];
const [asked, id] = ['doCS.sHop.TEst', 0x1234];

const signature: Answer = {
  type: 'RRSIG',
  name: asked,
  data: {
    typeCovered: 'CNAME',
    algorithm: 13,
    labels: 3,
    originalTTL: 60,
    expiration: 2,
    inception: 1,
    keyTag: 1,
    signersName: 'shop.test',
    signature: Buffer.alloc(24, 0xc0),
  },
};
const opt: Answer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 1232,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: true,
  options: [],
};
/** An extended error for the OPT record; dns-packet has no support for it. */
const bogus = Buffer.from('\0\x0f\0\x07\0\x06bogus');
const answers: readonly (readonly Answer[])[] = [
  [{ type: 'CNAME', name: asked, ttl: 60, data: target }],
  [{ type: 'CNAME', name: asked, data: 'p1xedge.test' }, signature],
  [
    { type: 'CNAME', name: asked, data: 'other.edge.test' },
    { type: 'CNAME', name: 'other.edge.test', data: target },
    { type: 'A', name: target, data: '192.0.2.1' },
    { type: 'AAAA', name: target, data: '2001:db8::1' },
  ],
  [
    { type: 'CAA', name: asked, data: { flags: 0, tag: 'issue', value: 'ca.test' } },
    { type: 'TXT', name: asked, data: ['hello', `${target} there`] },
    { type: 'MX', name: asked, data: { preference: 10, exchange: 'mail.shop.test' } },
  ],
  [],
];

/** The originals; some with a compressed question name, as real servers send it. */
const originals: readonly Buffer[] = answers.flatMap((records) => {
  const encoded = encode({
    type: 'response',
    id,
    flags: 0x0400,
    questions: [{ type: 'CNAME', name: asked }],
    answers: [...records],
    authorities: [
      { type: 'SOA', name: 'shop.test', data: { mname: 'ns1.shop.test', rname: 'hm.shop.test' } },
    ],
    additionals: [opt],
  });
  encoded.writeUInt8(bogus.length, encoded.length - 1);
  const whole = Buffer.concat([encoded, bogus]);
  return [whole, compressed(whole)];
});

type Mutation = (bytes: Buffer, at: number, value: number) => Buffer;

const mutations: Readonly<Record<string, Mutation>> = {
  bitFlip: (bytes, at, value) => set(bytes, at, (bytes[at] ?? 0) ^ (1 << (value & 7))),
  octet: (bytes, at, value) => set(bytes, at, value & 0xff),
  cut: (bytes, at) => bytes.subarray(0, at),
  splice: (bytes, at, value) => {
    const from = value % bytes.length;
    const piece = bytes.subarray(from, from + (value >> 12));
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
  },
  takeOut: (bytes, at, value) =>
    Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + (value & 31))]),
  pointer: (bytes, at, value) => set(bytes, at, 0xc0 | ((value >> 8) & 1), value & 0xff),
  pointerToItself: (bytes, at) => set(bytes, at, 0xc0, at & 0xff),
  pointersAtEachOther: (bytes, at) => set(bytes, at, 0xc0, (at + 2) & 0xff, 0xc0, at & 0xff),
  count: (bytes, at, value) =>
    set(bytes, 4 + 2 * (at & 3), value & 0x8000 ? value >> 8 : 0, value & 3),
  sectionsAgain: (bytes, _at, value) => {
    const twice = Buffer.concat([bytes, bytes.subarray(12)]);
    for (const field of [4, 6, 8, 10]) {
      if (((value >> field) & 1) === 1) set(twice, field + 1, 2 * (bytes[field + 1] ?? 0));
    }
    return twice;
  },
  longer: (bytes, at) => set(bytes, at, (bytes[at] ?? 0) + 1),
  shorter: (bytes, at) => set(bytes, at, (bytes[at] ?? 0) - 1),
  // Two labels become one with a dot, so that the text of the name stays the same.
  dotInLabel: (bytes, at) => joinLabels(bytes, at, '.'),
  otherInLabel: (bytes, at, value) => joinLabels(bytes, at, String.fromCharCode(value & 0xff)),
};

const mutatedPackets: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.nat(originals.length - 1),
    fc.array(
      fc.tuple(fc.constantFrom(...Object.values(mutations)), fc.nat(0xffff), fc.nat(0xffff)),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([which, steps]) => {
    let bytes = Buffer.from(originals[which] ?? []);
    for (const [mutate, at, value] of steps) {
      if (bytes.length > 0) bytes = Buffer.from(mutate(bytes, at % bytes.length, value));
    }
    return bytes;
  });

function set(bytes: Buffer, at: number, ...octets: readonly number[]): Buffer {
  for (const [i, octet] of octets.entries()) bytes[at + i] = octet;
  return bytes;
}

/** Joins the labels of the next known name: `4 docs 4 shop` becomes `9 docs.shop`. */
function joinLabels(bytes: Buffer, at: number, between: string): Buffer {
  const starts = ['\x04doCS', '\x02p1', '\x02P1', '\x05other'].map((text) =>
    bytes.indexOf(text, at),
  );
  const start = Math.min(...starts.filter((found) => found >= 0));
  if (!Number.isFinite(start)) return bytes;
  const first = bytes[start] ?? 0;
  const second = start + 1 + first;
  set(bytes, start, first + 1 + (bytes[second] ?? 0));
  return set(bytes, second, between.charCodeAt(0));
}

/** Replaces each owner equal to the question's name by a pointer. */
function compressed(whole: Buffer): Buffer {
  const name = whole.subarray(12, 12 + asked.length + 2);
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = whole.indexOf(name, 13); at >= 0; at = whole.indexOf(name, from)) {
    pieces.push(whole.subarray(from, at), Buffer.from([0xc0, 12]));
    from = at + name.length;
  }
  return Buffer.concat([...pieces, whole.subarray(from)]);
}

/** A simple decoder of the names in a message, to compare the real decoder with. */

/** A record's owner and its CNAME target, as labels of bytes. */
type NamesOfRecord = {
  readonly owner: readonly string[];
  readonly alias: readonly string[] | undefined;
};

/** The labels at an offset with pointers followed; one lowercase character per byte. */
function labelsAt(bytes: Buffer, at: number): string[] {
  const length = bytes.readUInt8(at);
  if (length === 0) return [];
  if (length >= 0xc0) return labelsAt(bytes, bytes.readUInt16BE(at) & 0x3fff);
  const label = bytes.toString('latin1', at + 1, at + 1 + length);
  const folded = label.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [folded, ...labelsAt(bytes, at + 1 + length)];
}

function skipName(bytes: Buffer, at: number): number {
  const length = bytes.readUInt8(at);
  if (length === 0) return at + 1;
  return length >= 0xc0 ? at + 2 : skipName(bytes, at + 1 + length);
}

/** The records of a message that the decoder has accepted, in order. */
function namesByHand(bytes: Buffer): readonly NamesOfRecord[] {
  const [questions, records] = [bytes.readUInt16BE(4), [6, 8, 10]];
  let at = questions === 1 ? skipName(bytes, 12) + 4 : 12;
  let left = records.reduce((sum, field) => sum + bytes.readUInt16BE(field), 0);
  const found: NamesOfRecord[] = [];
  for (; left > 0; left--) {
    const fixed = skipName(bytes, at);
    const isAlias = bytes.readUInt16BE(fixed) === 5 && bytes.readUInt16BE(fixed + 2) === 1;
    const data = fixed + 10;
    found.push({
      owner: labelsAt(bytes, at),
      alias: isAlias ? labelsAt(bytes, data) : undefined,
    });
    at = data + bytes.readUInt16BE(fixed + 8);
  }
  return found;
}

/** They take tens of seconds on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

const PACKETS = sizeOfRun({ quick: 20_000, long: 100_000 });

/** The query as sent, without EDNS; encoded by hand to keep its case fixed. */
const encoded = encodeQuestion({ name: asked, type: 'CNAME', recursionDesired: false }, id, false);
const exchange: QueryExchange = {
  id,
  encoded,
  questionEnd: encoded.length,
  edns: false,
  mixedCase: true,
};
const questionSection = encoded.subarray(12);

function decoded(bytes: Buffer): Message | undefined {
  try {
    return decodeMessage(bytes);
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

/** A name of ours is decoded exactly where its labels are in the bytes. */
function namesAreTrue(bytes: Buffer, message: Message): void {
  const records = [...message.answers, ...message.authority, ...message.additional];
  const byHand = namesByHand(bytes);
  expect(records.length).toBe(byHand.length);
  for (const [i, record] of records.entries()) {
    for (const name of [hostname, target]) {
      const labels = name.split('.');
      const { owner = [], alias = [] } = byHand[i] ?? {};
      const aliasOf = record.type === 'CNAME' ? record.target : undefined;
      const same = (record.name === name) === equal(owner, labels);
      const sameAlias = (aliasOf === name) === equal(alias, labels);
      if (!same || !sameAlias) throw new Error(`${name} in ${bytes.toString('hex')}`);
    }
  }
}

function equal(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((label, i) => label === b[i]);
}

/** Whether it is a response with the right ID, QR and question. */
function isOurs(bytes: Buffer): boolean {
  const taken = isAnswer(bytes, exchange);
  if (!taken) return false;
  const headerOnly = bytes.readUInt16BE(4) === 0 && [1, 4].includes(bytes.readUInt8(3) & 0x0f);
  const section = bytes.subarray(12, 12 + questionSection.length);
  const right =
    bytes.readUInt16BE(0) === id &&
    bytes.readUInt8(2) >= 0x80 &&
    (headerOnly || (bytes.readUInt16BE(4) === 1 && section.equals(questionSection)));
  if (!right) throw new Error(`accepted as a response: ${bytes.toString('hex')}`);
  return isAnswerInAnyCase(bytes, exchange);
}

describe('mutated responses', () => {
  it('are decoded correctly or rejected, and none to another query is accepted', () => {
    const seen = { malformed: 0, ours: 0, alias: 0 };
    fc.assert(
      fc.property(mutatedPackets, (bytes) => {
        const message = decoded(bytes);
        if (message === undefined) seen.malformed++;
        else namesAreTrue(bytes, message);
        if (!isOurs(bytes)) return;
        seen.ours++;
        const answer = readAnswer(bytes, 'udp', 1);
        expect(answer.kind).toBe(message === undefined ? 'malformed' : 'response');
        // The check above has already found the target's labels in this record.
        const aliases = message?.answers.filter(({ type }) => type === 'CNAME') ?? [];
        if (aliases.some((record) => 'target' in record && record.target === target)) seen.alias++;
      }),
      { numRuns: PACKETS },
    );
    // Fewer would mean that the mutations are too strong or too weak.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(PACKETS / 50);
  });

  it('have originals that are decoded unchanged', () => {
    for (const bytes of originals) {
      expect(isAnswer(bytes, exchange)).toBe(true);
      namesAreTrue(bytes, decodeMessage(bytes));
    }
  });
});
