import { type Answer, encode } from 'dns-packet';
import fc from 'fast-check';

/** The name in every query, in the case sent, and the target of an alias. */
export const [hostname, target] = ['docs.shop.test', 'p1.edge.test'];
export const [asked, id] = ['doCS.sHop.TEst', 0x1234];

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
export const originals: readonly Buffer[] = answers.flatMap((records) => {
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

export const mutatedPackets: fc.Arbitrary<Buffer> = fc
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
