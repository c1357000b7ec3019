import { type Answer, decode as decodeOther, encode as encodeOther } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeQuestion } from '../../../src/dns/wire/message.ts';
import { MalformedMessage } from '../../../src/dns/wire/name.ts';
import { typeCodes } from '../../../src/dns/wire/records.ts';

const response = (answers: Answer[], flags = 0) =>
  encodeOther({
    type: 'response',
    id: 7,
    flags,
    questions: [{ type: 'A', name: 'docs.shop.test' }],
    answers,
  });

describe('a query', () => {
  it.each(Object.keys(typeCodes) as (keyof typeof typeCodes)[])('is decodable: %s', (type) => {
    const question = { name: 'docs.shop.test', type, recursionDesired: true };
    const packet = decodeOther(encodeQuestion(question, 4711, true));
    expect(packet).toMatchObject({ id: 4711, type: 'query', flag_rd: true, rcode: 'NOERROR' });
    // The other decoder knows HTTPS by its number only.
    const known = type === 'HTTPS' ? 'UNKNOWN_65' : type;
    expect(packet.questions).toEqual([{ name: 'docs.shop.test', type: known, class: 'IN' }]);
    expect(packet.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232 }]);
  });

  it('sets RD and EDNS only on request', () => {
    const question = { name: 'shop.test', type: 'A', recursionDesired: false } as const;
    const packet = decodeOther(encodeQuestion(question, 1, false));
    expect(packet).toMatchObject({ flag_rd: false, additionals: [] });
  });
});

describe('a response from another encoder', () => {
  it.each<[Answer, object]>([
    [{ type: 'A', name: 'x.test', ttl: 5, data: '192.0.2.1' }, { address: '192.0.2.1' }],
    [{ type: 'AAAA', name: 'x.test', data: '2001:DB8:0:0:0:0:0:1' }, { address: '2001:db8::1' }],
    [{ type: 'CNAME', name: 'x.test', data: 'P1.Edge.TEST' }, { target: 'p1.edge.test' }],
    [{ type: 'NS', name: 'x.test', data: 'ns1.x.test' }, { target: 'ns1.x.test' }],
    [{ type: 'TXT', name: 'x.test', data: ['a "b"', 'ü'] }, { texts: ['a "b"', '\\195\\188'] }],
    [
      { type: 'MX', name: 'x.test', data: { preference: 10, exchange: 'mail.x.test' } },
      { preference: 10, exchange: 'mail.x.test' },
    ],
    [
      { type: 'CAA', name: 'x.test', data: { flags: 128, tag: 'issue', value: 'ca.test; a=\n' } },
      { flags: 128, tag: 'issue', value: 'ca.test; a=\\010' },
    ],
    [
      {
        type: 'SOA',
        name: 'x.test',
        data: { mname: 'ns1.x.test', rname: 'hm.x.test', serial: 4_000_000_000, minimum: 300 },
      },
      { mname: 'ns1.x.test', serial: 4_000_000_000, minimumSeconds: 300 },
    ],
    [
      { type: 'PTR', name: 'x.test', data: 'y.test' },
      { type: 'OTHER', typeCode: 12 },
    ],
  ])('is decoded identically: $type', (answer, expected) => {
    const [record] = decodeMessage(response([answer])).answers;
    expect(record).toMatchObject({ type: answer.type, name: 'x.test', ...expected });
  });

  it('keeps its flags, its extended RCODE and its sections', () => {
    const bytes = encodeOther({
      type: 'response',
      id: 7,
      flags: 0x0400 | 0x0200 | 0x0100 | 0x0080 | 3,
      questions: [{ type: 'CAA', name: 'Shop.Test' }],
      authorities: [{ type: 'NS', name: 'shop.test', data: 'ns1.shop.test' }],
      additionals: [
        { type: 'A', name: 'ns1.shop.test', data: '192.0.2.1' },
        { ...opt, extendedRcode: 1 },
      ],
    });
    expect(decodeMessage(bytes)).toMatchObject({
      id: 7,
      response: true,
      authoritative: true,
      truncated: true,
      recursionDesired: true,
      recursionAvailable: true,
      rcode: 19,
      question: { name: 'shop.test', typeCode: 257 },
      authority: [{ type: 'NS' }],
      additional: [{ type: 'A' }, { type: 'OPT' }],
    });
  });

  it('is decoded identically for random records', () => {
    const name = fc.domain().map((text) => text.toLowerCase());
    const records = fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('A' as const), name, data: fc.ipV4() }),
        fc.record({ type: fc.constant('CNAME' as const), name, data: name }),
        fc.record({ type: fc.constant('NS' as const), name, data: name }),
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(records, (answers) => {
        const ours = decodeMessage(response(answers)).answers;
        const shown = ours.map((record) => ({
          type: record.type,
          name: record.name,
          data: 'address' in record ? record.address : 'target' in record ? record.target : '',
        }));
        expect(shown).toEqual(answers);
      }),
    );
  });

  it('is decoded identically with compressed names', () => {
    const whole = response([{ type: 'A', name: 'docs.shop.test', data: '192.0.2.1' }]);
    const record = whole.subarray(12 + 16 + 4 + 16);
    const compressed = Buffer.concat([
      whole.subarray(0, 12 + 16 + 4),
      Buffer.from([0xc0, 12]),
      record,
    ]);
    expect(decodeMessage(compressed).answers).toEqual(decodeMessage(whole).answers);
  });
});

const opt = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 1232,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
} satisfies Answer;

describe('an invalid message', () => {
  const good = response([
    { type: 'CAA', name: 'x.test', data: { flags: 0, tag: 'issue', value: 'ca.test' } },
    { type: 'TXT', name: 'x.test', data: ['hello', 'there'] },
    { type: 'AAAA', name: 'x.test', data: '2001:db8::1' },
  ]);

  function onlyMalformed(bytes: Uint8Array): void {
    try {
      decodeMessage(bytes);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
    }
  }

  it('of random bytes is rejected with one kind of error', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), onlyMalformed), { numRuns: 3000 });
  });

  it('with random damage is rejected with one kind of error', () => {
    const damage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 });
    fc.assert(
      fc.property(damage, (places) => {
        const bytes = Buffer.from(good);
        for (const [at, byte] of places) bytes[at] = byte;
        onlyMalformed(bytes);
      }),
      { numRuns: 3000 },
    );
  });

  it('that is truncated anywhere is rejected', () => {
    for (let length = 0; length < good.length; length++) {
      expect(() => decodeMessage(good.subarray(0, length))).toThrow(MalformedMessage);
    }
  });

  it('with a wrong data length is rejected, as the next record would be misread', () => {
    const bytes = response([{ type: 'CNAME', name: 'x.test', data: 'y.test' }]);
    const lengthAt = bytes.length - 8 - 2;
    for (const wrong of [7, 9]) {
      const damaged = Buffer.concat([bytes, Buffer.alloc(4)]);
      damaged.writeUInt16BE(wrong, lengthAt);
      expect(() => decodeMessage(damaged)).toThrow(MalformedMessage);
    }
  });

  it('of 64 KiB of chained pointers is decoded in finite time', () => {
    const bytes = Buffer.alloc(65_535, 0xc0);
    bytes.fill(0, 0, 12);
    bytes.writeUInt16BE(0xffff, 6);
    for (let at = 12; at < 16_000; at += 2) bytes.writeUInt16BE(0xc000 | Math.max(0, at - 2), at);
    onlyMalformed(bytes);
  });
});

describe('a message with many records', () => {
  /** Name server records with the question's name as owner and target. */
  function withRecords(count: number): Buffer {
    const labels = Array.from({ length: 180 }, (_, i) => (i % 60 === 0 ? 59 : 0));
    const head = Buffer.from([0, 1, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0]);
    head.writeUInt16BE(count, 6);
    const record = Buffer.from([0xc0, 12, 0, 2, 0, 1, 0, 0, 0, 1, 0, 2, 0xc0, 12]);
    const all = Array.from({ length: count }, () => record);
    return Buffer.concat([head, Buffer.from([0, 2, 0, 1]), ...all]);
  }

  it('is read up to 500 records and rejected beyond', () => {
    expect(decodeMessage(withRecords(500)).answers).toHaveLength(500);
    expect(() => decodeMessage(withRecords(501))).toThrow(
      new MalformedMessage('more than 500 records'),
    );
  });

  it('is rejected whichever sections they are in', () => {
    const spread = withRecords(600);
    for (const at of [6, 8, 10]) spread.writeUInt16BE(200, at);
    expect(() => decodeMessage(spread)).toThrow('more than 500 records');
  });
});
