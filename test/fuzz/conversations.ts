import fc from 'fast-check';
import { smuggled } from './bodies.ts';
import { type Conversation, type Delivery, type Message, message } from './conversation.ts';
import { bodyFields, fields } from './fields.ts';
import type { Known } from './known.ts';
import {
  headWith,
  type MakeHead,
  refusedMessages,
  strangeRequests,
  wildMessages,
} from './odd-messages.ts';
import { type Operation, operations } from './operations.ts';

/** Any conversation; fast-check shrinks it. */
export function conversations(known: Known): fc.Arbitrary<Conversation> {
  const { before, last } = kinds(known);
  const said = (most: number, deliveries: fc.Arbitrary<Delivery>) =>
    fc
      .record({
        before: fc.array(before, { maxLength: most, size: 'max' }),
        end: fc.option(last, { freq: 20 }),
        delivery: deliveries,
      })
      .map(({ before, end, delivery }) => ({
        messages: end === null ? before : [...before, end],
        delivery,
      }));
  return fc.oneof(
    { weight: 5, arbitrary: said(24, heldOut) },
    { weight: 1, arbitrary: said(4, cutOff) }, // short, because much of it is never answered
  );
}

/** The messages within and at the end of a conversation. */
function kinds(known: Known) {
  const head = headWith(known.keys.admin);
  const request = messages(known);
  const strange = fc.constantFrom(...strangeRequests(head));
  const refused = fc.oneof(fc.constantFrom(...refusedMessages(head)), conflicts(head));
  return {
    before: fc.oneof(
      { weight: 300, arbitrary: request },
      // Rare, because they end the connection.
      { weight: 1, arbitrary: strange },
      { weight: 1, arbitrary: refused },
    ),
    last: fc.oneof(
      { weight: 5, arbitrary: request },
      { weight: 2, arbitrary: strange },
      { weight: 3, arbitrary: refused },
      { weight: 1, arbitrary: spilling(head) },
      { weight: 1, arbitrary: fc.constantFrom(...wildMessages(head)) },
      { weight: 2, arbitrary: damaged(fc.oneof(request, strange, refused)) },
    ),
  };
}

const place = fc.nat({ max: 0xffff });

const heldOut: fc.Arbitrary<Delivery> = fc.oneof(
  { withCrossShrink: true },
  { weight: 8, arbitrary: fc.constant({ kind: 'whole' } as const) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('torn' as const),
      cuts: fc.array(place, { minLength: 1, maxLength: 12 }),
      turns: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('dribbled' as const),
      step: fc.integer({ min: 1, max: 40 }),
    }),
  },
);

const cutOff: fc.Arbitrary<Delivery> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: 'half_closed' } as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('aborted' as const),
      at: place,
      turns: fc.nat({ max: 6 }),
      isReset: fc.boolean(),
    }),
  },
);

const special = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  ' ',
  ':',
  ',',
  '\x7f',
  '\xff',
  '0',
  'chunked',
];

type Edit = { readonly at: number; readonly removed: number; readonly added: string };

const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.record({
    at: place,
    removed: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 100 })),
    added: fc.oneof(fc.constant(''), fc.constantFrom(...special)),
  }),
  { minLength: 1, maxLength: 4 },
);

/** A message with octets lost and added anywhere. */
function damaged(whole: fc.Arbitrary<Message>): fc.Arbitrary<Message> {
  return fc.tuple(whole, edits).map(([{ octets }, list]) => {
    // With a damaged id, a bodiless response could not be matched to a HEAD.
    const text = octets.replace(/^HEAD /, 'GET ');
    return message(list.reduce(edit, text), 'wild');
  });
}

function edit(text: string, { at, removed, added }: Edit): string {
  const start = at % (text.length + 1);
  return text.slice(0, start) + added + text.slice(start + removed);
}

/* Messages with an ambiguous end, as in request smuggling (RFC 9112, 11.2). */

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
function conflicts(head: MakeHead): fc.Arbitrary<Message> {
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
function spilling(head: MakeHead): fc.Arbitrary<Message> {
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

/* Well-formed HTTP/1.1 or 1.0 requests: each has exactly one response. */

/** How a body is delimited: by its length, or in chunks of these sizes. */
type Framing = {
  readonly sizes: readonly number[] | null;
  readonly extension: string;
  readonly trailers: string;
};

const framings: fc.Arbitrary<Framing> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ sizes: null, extension: '', trailers: '' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 4 }),
      extension: fc.constantFrom('', '', ';a', ';a=b', ';a="b c"'),
      // A trailer is not a header field (RFC 9110, 6.5.1): these would change the request.
      trailers: fc.constantFrom('', '', 'X-Request-Id: trailer\r\n', 'A: b\r\nExpect: c\r\n'),
    }),
  },
);

function messages(known: Known): fc.Arbitrary<Message> {
  return fc
    .record({
      operation: operations(known),
      lines: fields(known),
      bodyLines: bodyFields,
      framing: framings,
      isOld: fc.nat({ max: 200 }).map((one) => one === 200),
    })
    .map(({ operation, lines, bodyLines, framing, isOld }) => {
      const all = operation.body === null ? lines : [...lines, ...bodyLines];
      const length = [operation.target, ...all].join('\r\n').length;
      const fitting = length < MAX_HEAD ? operation : { ...operation, target: '/nothing' };
      return compose(fitting, all, framing, isOld);
    });
}

/** Longer heads belong to the odd messages. */
const MAX_HEAD = 15_000;

function compose(
  { method, target, body }: Operation,
  lines: readonly string[],
  framing: Framing,
  isOld: boolean,
): Message {
  const inChunks = framing.sizes !== null && !isOld; // RFC 9112, 6.1: 1.0 has no chunks
  const delimiter =
    body === null
      ? []
      : [inChunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`];
  const version = `HTTP/1.${isOld ? 0 : 1}`;
  const head = [`${method} ${target} ${version}`, ...lines, ...delimiter];
  const sent = body !== null && inChunks ? chunked(body, framing) : (body ?? '');
  const expects = head.some((line) => /^expect: 100-continue/i.test(line));
  return message(`${head.join('\r\n')}\r\n\r\n${sent}`, 'answered', {
    isHead: method === 'HEAD',
    echoes: true,
    mayContinue: expects && !isOld,
  });
}

/** RFC 9112, 7.1 */
function chunked(body: string, { sizes, extension, trailers }: Framing): string {
  const chunks: string[] = [];
  let at = 0;
  for (const size of [...(sizes ?? []), body.length]) {
    const data = body.slice(at, at + size);
    if (data === '') break;
    chunks.push(`${data.length.toString(16)}${extension}\r\n${data}\r\n`);
    at += size;
  }
  return `${chunks.join('')}0\r\n${trailers}\r\n`;
}
