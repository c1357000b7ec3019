/** Well-formed HTTP/1.1 or 1.0 requests: each has exactly one response. */
import fc from 'fast-check';
import { type Message, message } from './conversation.ts';
import { bodyFields, fields } from './fields.ts';
import type { Known } from './known.ts';
import { type Operation, operations } from './operations.ts';

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

export function messages(known: Known): fc.Arbitrary<Message> {
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
