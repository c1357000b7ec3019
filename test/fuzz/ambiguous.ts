/** Messages with an ambiguous end, as in request smuggling (RFC 9112, 11.2). */
import fc from 'fast-check';
import { smuggled } from './bodies.ts';
import { type Message, message } from './conversation.ts';
import type { MakeHead } from './odd-messages.ts';

const pet = '{"name":"odd","categoryId":1}';
const inChunks = `${pet.length.toString(16)}\r\n${pet}\r\n0\r\n\r\n`;

/** Wrong or hidden body lengths. None of these messages may be executed. */
const wrongEncodings = fc.oneof(
  fc.constantFrom(
    '',
    ',',
    'identity',
    'gzip',
    'x',
    'xchunked',
    'chunkedx',
    '"chunked"',
    'chunked,',
  ),
  fc.constantFrom('chunked, identity', 'gzip, chunked', 'chunked, chunked', 'chunked, gzip'),
  fc.constantFrom('chunked gzip', 'chunked;a=b', '\x0bchunked', 'chunked\0'),
);
const encodings = fc.oneof(fc.constantFrom('chunked', 'CHUNKED', '\tchunked '), wrongEncodings);
/** `N` is the length of the body, or 0. */
const wrongLengthTexts = fc.oneof(
  fc.constantFrom(
    '',
    '-1',
    '-N',
    '+N',
    'N N',
    'N,N',
    'N, 0',
    '0xN',
    'N.0',
    '1e1',
    '"N"',
    'N;',
    'x',
  ),
  fc.constantFrom('N\0', '\x0bN', '\xb2', '9'.repeat(30), '18446744073709551616'),
);
const wrongLengths = fc
  .tuple(wrongLengthTexts, fc.constantFrom(pet.length, 0))
  .map(([text, length]) => text.replaceAll('N', String(length)));

const lengthLine = (value: string | number) => `Content-Length: ${value}`;
const encodingLine = (value: string) => `Transfer-Encoding: ${value}`;

/** Lines that every parser may read differently. */
const conflictingLines: fc.Arbitrary<readonly string[]> = fc.oneof(
  fc
    .tuple(encodings, fc.constantFrom(pet.length, 0, inChunks.length + smuggled.length))
    .map(([encoding, length]) => [lengthLine(length), encodingLine(encoding)]),
  wrongEncodings.map((encoding) => [encodingLine(encoding)]),
  fc.tuple(encodings, wrongEncodings).map((both) => both.map(encodingLine)),
  wrongLengths.map((length) => [lengthLine(length)]),
  fc.constantFrom(0, 1, pet.length - 1).map((other) => [lengthLine(pet.length), lengthLine(other)]),
  fc.constantFrom(
    ['Transfer-Encoding : chunked', lengthLine(pet.length)],
    ['Transfer-Encoding\t: chunked', lengthLine(pet.length)],
    ['X: 1\rTransfer-Encoding: chunked', lengthLine(pet.length)],
    ['Transfer-Encoding\0: chunked', lengthLine(pet.length)],
    [lengthLine(pet.length), 'Content-Length : 0'],
  ),
);

/** Rejected, whatever they hide. */
export function conflicts(head: MakeHead): fc.Arbitrary<Message> {
  return fc
    .record({
      method: fc.constantFrom('POST', 'GET', 'DELETE', 'OPTIONS'),
      lines: conflictingLines,
      isReversed: fc.boolean(),
      body: fc.constantFrom(pet, inChunks, inChunks + smuggled, `0\r\n\r\n${smuggled}`, ''),
    })
    .map(({ method, lines, isReversed, body }) => {
      const ordered = isReversed ? lines.toReversed() : lines;
      const type = 'Content-Type: application/json';
      const octets = head(`${method} /v1/pets HTTP/1.1`, type, ...ordered) + body;
      return message(octets, 'refused', { isNeverDone: true });
    });
}

/** Answered up to their end; surplus octets are the start of another message. */
export function spilling(head: MakeHead): fc.Arbitrary<Message> {
  const type = 'Content-Type: application/json';
  const whole = fc.constantFrom(
    head('POST /v1/pets HTTP/1.1', type, lengthLine(pet.length)) + pet,
    head('POST /v1/pets HTTP/1.1', type, encodingLine('chunked')) + inChunks,
    head('POST /v1/pets HTTP/1.1', lengthLine(0)),
    head('GET /v1/pets HTTP/1.1'),
    head('DELETE /v1/pets HTTP/1.1'),
  );
  const surplus = fc.oneof(
    fc.constantFrom(smuggled, pet, '\r\n', '\0', '0\r\n\r\n', '}'),
    fc.nat({ max: smuggled.length }).map((length) => smuggled.slice(0, length)),
    fc.uint8Array({ maxLength: 20 }).map((octets) => Buffer.from(octets).toString('latin1')),
  );
  return fc.tuple(whole, surplus).map((parts) => message(parts.join(''), 'spills'));
}
