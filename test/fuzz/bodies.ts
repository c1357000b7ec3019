/** Bodies in octets: valid, nearly valid and unexpected. */
import fc from 'fast-check';
import { SMUGGLED_ID } from './conversation.ts';
import { utf8 } from './octets.ts';

type Octets = fc.Arbitrary<string>;

const LIMIT = 65_536; // octets of a body (docs/integrate/api.md)

/** JSON texts that a careless parser, a double or a database misreads. */
const values: Octets = fc.oneof(
  fc.constantFrom(
    ...['null', 'true', '0', '-0', '1', '1.5', '1e3', '007', '+1', '1e400', '-1e400', 'NaN'],
    ...['9223372036854775807', '9223372036854775808', '-9223372036854775808'],
    ...['-9223372036854775809', `1${'0'.repeat(400)}`, '"7"', '""', "'a'", '"\t"', '"\\x41"'],
    ...['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\u{1f415}"', '"available"', '"gone"'],
    ...['[]', '{}', '[[],[]]', '{"a":1,"a":2}', '{"__proto__":{"a":1}}', 'undefined', '/**/1'],
    ...[255, 256, 2_049].map((length) => `"${'x'.repeat(length)}"`),
  ),
  fc.bigInt().map(String),
  fc.double().map(String),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
);

const strangeNames = ['x', '', '__proto__', 'constructor', 'toString', '\\u0000', 'Name', ' name'];

/** Objects whose names are mostly expected, perhaps twice. */
function objects(names: readonly string[]): Octets {
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constantFrom(...strangeNames) },
  );
  const fields = fc.array(fc.tuple(name, values), { maxLength: 5 });
  return fields.map((list) => utf8(`{${list.map(([key, value]) => `"${key}":${value}`).join()}}`));
}

const nested: Octets = fc
  .record({
    depth: fc.oneof(fc.integer({ min: 30, max: 34 }), fc.constantFrom(1_000, 20_000)),
    open: fc.constantFrom('[', '{"a":', '[{"a":'),
    isClosed: fc.boolean(),
  })
  .map(({ depth, open, isClosed }) => {
    const closing = [...open].reverse().join('').replace(/[^[{]/g, '');
    const end = closing.replaceAll('[', ']').replaceAll('{', '}').repeat(depth);
    return (open.repeat(depth) + (isClosed ? `1${end}` : '')).slice(0, LIMIT);
  });

/** A complete request, for a server that misjudges the end of a body. */
export const smuggled = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${SMUGGLED_ID}\r\n\r\n`;

const anyOctets: Octets = fc
  .uint8Array({ maxLength: 60 })
  .map((octets) => Buffer.from(octets).toString('latin1'));

const strange: Octets = fc.oneof(
  fc.constantFrom(
    ...['', ' ', 'null', '"a"', '[]', '\xef\xbb\xbf{}', '\0', '{}\0', '{}{}', '{"a":1,}', smuggled],
    ...['"\xed\xa0\x80"', '"\xc0\xaf"', '"\xf4\x90\x80\x80"', '\xff\xfe{\0}\0', '"\x80"'], // not UTF-8 (RFC 3629, 3)
    ...['"\\'.repeat(2_000), `{${'"a":1,'.repeat(3_000)}"b":1}`, `[${'1,'.repeat(9_000)}1]`],
  ),
  nested,
  anyOctets,
);

/** A valid body padded with white space to just below or above the limit. */
function large(wanted: Octets): Octets {
  return fc
    .tuple(wanted, fc.constantFrom(LIMIT - 1, LIMIT, LIMIT + 1, 2 * LIMIT))
    .map(([text, length]) => text.padEnd(length, ' '));
}

function damaged(wanted: Octets): Octets {
  return fc
    .tuple(wanted, fc.nat(), fc.nat({ max: 3 }), anyOctets)
    .map(([text, place, removed, added]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + added + text.slice(at + removed);
    });
}

/** Bodies for a route, from its valid body and its field names. */
export function bodiesLike(wanted: Octets, names: readonly string[]): Octets {
  return fc.oneof(
    { weight: 100, arbitrary: wanted },
    { weight: 80, arbitrary: objects(names) },
    { weight: 25, arbitrary: damaged(wanted) },
    { weight: 20, arbitrary: strange },
    { weight: 1, arbitrary: large(wanted) },
  );
}

/** A body for a route without one. */
export const anyBody: Octets = bodiesLike(fc.constant('{}'), ['a']);

export function json(records: fc.Arbitrary<object>): Octets {
  return records.map((record) => utf8(JSON.stringify(record)));
}
