/** Header fields: those that the service reads, in many values, and others. */
import fc from 'fast-check';
import { ID } from './conversation.ts';
import type { Known } from './known.ts';

/** Field lines without line ends. */
type Lines = fc.Arbitrary<readonly string[]>;

const octetsOf = (...ranges: readonly (readonly [number, number])[]) =>
  ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, n) => String.fromCharCode(from + n)),
  );

/** All characters that a field value may have: RFC 9110, 5.5. */
const valueText = fc.string({
  unit: fc.constantFrom(...octetsOf([0x09, 0x09], [0x20, 0x7e], [0x80, 0xff])),
  maxLength: 30,
});
const tokenText = fc.string({
  unit: fc.constantFrom(...octetsOf([0x30, 0x39], [0x41, 0x5a], [0x5e, 0x7a]), ..."!#$%&'*+-.|~"),
  minLength: 1,
  maxLength: 10,
});

/** A rare field. */
function seldom(name: string, values: fc.Arbitrary<string>): Lines {
  const line = values.map((value) => [`${name}: ${value}`]);
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 12, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: line },
  );
}

function authorization({ keys }: Known): Lines {
  const bearer = (token: string) => [`Authorization: Bearer ${token}`];
  const mistyped = keys.reader.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  const strange = fc.oneof(
    fc.constantFrom<readonly string[]>(
      bearer(mistyped),
      bearer('nobody-s-key'),
      bearer('x'.repeat(600)),
      bearer(''),
      [...bearer(keys.reader), ...bearer(keys.reader)],
      [`Authorization: Basic ${keys.reader}`],
      [`authorization:bearer   ${keys.reader}  `],
      [`Authorization: Bearer${' '.repeat(2_000)}x`],
      ['Authorization:'],
    ),
    valueText.map((text) => [`Authorization: ${text}`]),
  );
  return fc.oneof(
    { weight: 16, arbitrary: fc.constant(bearer(keys.admin)) },
    { weight: 3, arbitrary: fc.constant(bearer(keys.reader)) },
    { weight: 3, arbitrary: fc.constant(bearer(keys.writer)) },
    { weight: 3, arbitrary: fc.constant(bearer(keys.domains)) },
    { weight: 1, arbitrary: fc.constant(bearer(keys.revoked)) },
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: strange },
  );
}

const idempotencyKey = fc.oneof(
  fc.constantFrom('k1', 'k2', 'k3', '"k1"', '"a \\"b\\""', 'a, b', '"a, b"', '"', '""', '', '\xe4'),
  fc.constantFrom('x'.repeat(255), 'x'.repeat(256), `"${'\\\\'.repeat(1_000)}`),
  fc.constant('k1\r\nIdempotency-Key: k2'),
  fc.uuid(),
  valueText,
);
const ifNoneMatch = fc.oneof(
  fc.constantFrom('*', '"x"', 'W/"x"', ' * ', '*, "x"', '"a","b"', ','.repeat(1_000), '"x', ''),
  valueText,
);
const TRACE = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'; // W3C Trace Context, 3.2
const traceparent = fc.oneof(
  fc.constantFrom(`00-${TRACE}-01`, `01-${TRACE}-03-x`, `ff-${TRACE}-01`, `00-${TRACE}-01-x`),
  fc.constantFrom(`00-${TRACE.toUpperCase()}-01`, `00-${TRACE.replace(/\w/g, '0')}-01`),
  fc.constant(`00-${'0'.repeat(2_000)}`),
  valueText,
);
/** Few, because the service stores a counter for each. */
const forwardedFor = fc.oneof(
  fc.constantFrom('192.0.2.1', '192.0.2.1, 127.0.0.1', '127.0.0.1', '::ffff:192.0.2.7'),
  fc.constantFrom('2001:db8::1', '[2001:db8::1]:443', '1.2.3.4.5', '999.1.1.1', 'unknown', '%', ''),
  fc.constantFrom(',,,', ':'.repeat(500), '1, '.repeat(500), '\xff'),
);
/** `close` is rare, because nothing after it is answered. */
const connection = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('keep-alive', 'Keep-Alive', 'TE', 'x, y', ',', '') },
  { weight: 2, arbitrary: fc.constantFrom('Upgrade', 'keep-alive, Upgrade', 'content-length') },
  { weight: 1, arbitrary: fc.constantFrom('keep-alive', 'close') },
);

/** Names with a special meaning in JavaScript or in a server. */
const strangeName = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'hasOwnProperty', 'toString', 'Set-Cookie', 'Cookie'),
  // Without Upgrade: node:http reads nothing after such a request, and its client must wait (RFC
  // 9110, 7.8).
  fc.constantFrom('X-HTTP-Method-Override', 'Range', 'If-Match', 'TE', 'Accept', 'Via'),
  fc.constantFrom('Accept-Encoding', 'Forwarded', 'Trailer', 'Content-MD5', 'X-Request-Id2'),
  tokenText.map((text) => `x-${text}`),
);
const nonsense: Lines = fc.array(
  fc.tuple(strangeName, valueText).map(([name, value]) => `${name}: ${value}`),
  { maxLength: 6 },
);

/** Any other than 100-continue is rejected and ends the connection. */
const expectation: Lines = fc.oneof(
  { withCrossShrink: true },
  { weight: 400, arbitrary: fc.constant([]) },
  { weight: 4, arbitrary: fc.constantFrom(['Expect: 100-continue'], ['expect: 100-Continue']) },
  { weight: 1, arbitrary: fc.constantFrom(['Expect: miracles'], ['Expect:']) },
);

const origin = fc.constantFrom('https://shop.example', 'https://other.example', 'null', '');

/** The fields of a request except for its body, Host first, with the request's id. */
export function fields(known: Known): Lines {
  const host = fc.constantFrom('Host: x', 'Host: 127.0.0.1:3000', 'host:x', 'Host: [::1]', 'Host:');
  return fc
    .tuple(
      host.map((line) => [line, `X-Request-Id: ${ID}`]),
      authorization(known),
      seldom('Idempotency-Key', idempotencyKey),
      seldom('If-None-Match', ifNoneMatch),
      seldom('Last-Event-ID', fc.constantFrom('0', '7', '', '-1', '1, 2', 'x', '9'.repeat(50))),
      seldom('traceparent', traceparent),
      seldom('X-Forwarded-For', forwardedFor),
      seldom('Origin', origin),
      seldom('Access-Control-Request-Method', fc.constantFrom('GET', 'POST', 'x', '')),
      seldom('Connection', connection),
      expectation,
      fc.oneof(
        { withCrossShrink: true },
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: nonsense },
      ),
    )
    .map((groups) => groups.flat());
}

/** Matching and wrong body fields. */
export const bodyFields: Lines = fc
  .tuple(
    fc.oneof(
      { weight: 20, arbitrary: fc.constant(['Content-Type: application/json']) },
      {
        weight: 3,
        arbitrary: fc.constantFrom<readonly string[]>(
          [],
          ['content-type: Application/JSON; charset="utf-8"'],
          ['Content-Type: application/json; charset=latin1'],
          ['Content-Type: application/json', 'Content-Type: application/json'],
          ['Content-Type: application/jsonp'],
          ['Content-Type: text/plain'],
          ['Content-Type: application/x-www-form-urlencoded'],
          [`Content-Type: application/json${' ;'.repeat(1_000)}`],
          [`Content-Type: application/json${' '.repeat(2_000)};`],
          ['Content-Type:'],
        ),
      },
    ),
    seldom(
      'Content-Encoding',
      fc.constantFrom('gzip', 'identity', 'IDENTITY', 'br, gzip', '', 'x'),
    ),
  )
  .map((groups) => groups.flat());
