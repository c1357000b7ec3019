import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeName,
  encodeName,
  isWithin,
  MalformedMessage,
  parentOf,
} from '../../../src/dns/wire/name.ts';

const label = (text: string) => [text.length, ...Buffer.from(text, 'latin1')];
const wire = (...labels: string[]) => Uint8Array.from([...labels.flatMap(label), 0]);
const decode = (bytes: Uint8Array, offset = 0) => decodeName({ bytes, offset });

function encode(name: string): Uint8Array {
  const bytes = new Uint8Array(300);
  return bytes.slice(0, encodeName(name, bytes, 0));
}

describe('the text of a name is unambiguous', () => {
  it.each([
    ['docs.shop.test', wire('docs', 'shop', 'test')],
    ['docs.shop.test', wire('DOCS', 'Shop', 'tEST')],
    ['_acme-challenge.shop.test', wire('_acme-challenge', 'shop', 'test')],
    ['*.shop.test', wire('*', 'shop', 'test')],
    ['docs\\.shop.test', wire('docs.shop', 'test')],
    ['a\\032b.test', wire('a b', 'test')],
    ['a\\092b.test', wire('a\\b', 'test')],
    ['caf\\233.test', wire('café', 'test')],
    ['\\000.test', wire('\0', 'test')],
    ['.', wire()],
  ])('%s', (name, bytes) => {
    expect(decode(bytes)).toBe(name);
    expect(decode(encode(name))).toBe(name);
  });

  it('random labels survive a round trip in lower case', () => {
    const labels = fc.array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 3 });
    fc.assert(
      fc.property(labels, (parts) => {
        const bytes = Uint8Array.from([...parts.flatMap((part) => [part.length, ...part]), 0]);
        const folded = bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));
        // Length octets are at most 63, so folding never changes one.
        expect(encode(decode(bytes))).toEqual(folded);
      }),
    );
  });
});

describe('a compressed name', () => {
  it('is followed backward, and reading continues behind the pointer', () => {
    const bytes = Uint8Array.from([...wire('shop', 'test'), ...label('docs'), 0xc0, 0, 9]);
    const reader = { bytes, offset: 11 };
    expect(decodeName(reader)).toBe('docs.shop.test');
    expect(bytes[reader.offset]).toBe(9);
  });

  it.each([
    ['a pointer to itself', [0xc0, 0], 0],
    ['two pointers at each other', [0xc0, 2, 0xc0, 0], 0],
    ['a forward pointer', [0xc0, 2, 0], 0],
    ['a pointer into the labels just read', [1, 97, 0xc0, 0], 0],
    ['a truncated pointer', [0, 0xc0], 1],
    ['a truncated label', [5, 97], 0],
    ['a name without an end', [1, 97], 0],
    ['an unknown label type', [0x41, 97, 0], 0],
    ['nothing', [], 0],
    ['a name of 256 octets', [...Array(4).fill(label('x'.repeat(62))), 2, 97, 97, 0].flat(), 0],
  ])('is rejected when it is %s', (_what, bytes, offset) => {
    expect(() => decode(Uint8Array.from(bytes), offset)).toThrow(MalformedMessage);
  });

  it('is rejected when a long chain of pointers would make it slow', () => {
    // After a root at 0, each pointer leads to the previous one.
    const goals = Array.from({ length: 200 }, (_, i) => Math.max(0, 2 * i - 1));
    const bytes = Uint8Array.from([0, ...goals.flatMap((at) => [0xc0 | (at >> 8), at & 0xff])]);
    expect(decode(bytes, 99)).toBe('.');
    expect(() => decode(bytes, bytes.length - 2)).toThrow(MalformedMessage);
  });

  it('can have 255 octets', () => {
    const name = [...Array(3).fill('x'.repeat(63)), 'y'.repeat(61)].join('.');
    expect(decode(encode(name))).toBe(name);
  });
});

it.each([
  ['a..test'],
  [''],
  ['.test'],
  ['test.'],
  ['a b.test'],
  ['bücher.test'],
  ['a\\9.test'],
  ['a\\999.test'],
  [`${'x'.repeat(64)}.test`],
  [Array(5).fill('x'.repeat(60)).join('.')],
])('%j is rejected as a query name', (name) => {
  expect(() => encode(name)).toThrow(RangeError);
});

it.each([
  ['docs.shop.test', 'shop.test'],
  ['a\\.b.test', 'test'],
  ['test', '.'],
  ['.', undefined],
])('the parent of %s is %s', (name, parent) => {
  expect(parentOf(name)).toBe(parent);
});

it.each([
  ['docs.shop.test', 'shop.test', true],
  ['shop.test', 'shop.test', true],
  ['anything.test', '.', true],
  ['myshop.test', 'shop.test', false],
  ['docs\\.shop.test', 'shop.test', false],
  ['test', 'shop.test', false],
])('%s is within %s: %s', (name, zone, within) => {
  expect(isWithin(name, zone)).toBe(within);
});
