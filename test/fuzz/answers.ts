/**
 * Reads a server's output strictly by RFC 9112; a client library would repair or skip the errors to
 * find.
 */

export type Answer = {
  readonly status: number;
  readonly isToHead: boolean;
  /** Names in lower case; none occurs twice. */
  readonly fields: ReadonlyMap<string, string>;
  /** Octets. */
  readonly body: string;
  /** The position after the response. */
  readonly end: number;
};

export type Read = {
  /** Includes interim responses (1xx). */
  readonly answers: readonly Answer[];
  /** The rest: the start of a response, unless `problem` is set. */
  readonly rest: string;
  readonly problem: string | null;
};

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t\x20-\x7e]*$/; // RFC 9112, 4
const FIELD_LINE =
  /^([!#$%&'*+\-.^_`|~0-9a-z]+):[\t ]*((?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?)[\t ]*$/i; // RFC 9112, 5
const MAX_HEAD = 16_384; // far more than any header of the service

/**
 * Reads all complete responses. `isToHead` reports whether the n-th final one answers a HEAD and
 * has no body.
 */
export function readAnswers(octets: string, isToHead: (finals: number) => boolean): Read {
  const answers: Answer[] = [];
  let [start, finals] = [0, 0];
  for (;;) {
    const next = readAnswer(octets, start, isToHead(finals));
    if (typeof next === 'string') return { answers, rest: octets.slice(start), problem: next };
    if (next === null) return { answers, rest: octets.slice(start), problem: null };
    answers.push(next);
    start = next.end;
    if (next.status >= 200) finals += 1;
  }
}

/** The response, its problem, or null if incomplete. */
function readAnswer(octets: string, start: number, isToHead: boolean): Answer | string | null {
  const headEnd = octets.indexOf('\r\n\r\n', start);
  if (headEnd < 0) {
    return octets.length - start > MAX_HEAD ? 'an answer whose headers have no end' : null;
  }
  const [statusLine = '', ...lines] = octets.slice(start, headEnd).split('\r\n');
  const [, digits] = STATUS_LINE.exec(statusLine) ?? [];
  if (digits === undefined) return `no status line: ${JSON.stringify(statusLine.slice(0, 80))}`;
  const status = Number(digits);
  const fields = readFields(lines);
  if (typeof fields === 'string') return fields;
  const length = bodyLength(status, fields, isToHead);
  if (typeof length === 'string') return length;
  const end = headEnd + 4 + length;
  if (end > octets.length) return null;
  return { status, isToHead, fields, body: octets.slice(headEnd + 4, end), end };
}

function readFields(lines: readonly string[]): ReadonlyMap<string, string> | string {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ''] = FIELD_LINE.exec(line) ?? [];
    if (name === undefined) return `no field line: ${JSON.stringify(line.slice(0, 80))}`;
    const lower = name.toLowerCase();
    if (fields.has(lower)) return `the field ${lower} twice`;
    fields.set(lower, value);
  }
  return fields;
}

/** A stream has no known length, and HEAD gets none of its text. */
function mayLackLength(
  status: number,
  fields: ReadonlyMap<string, string>,
  isToHead: boolean,
): number | string {
  const isStream = fields.get('content-type')?.startsWith('text/event-stream') === true;
  return status === 304 || (isStream && isToHead) ? 0 : `${status} without Content-Length`;
}

/** RFC 9112, 6.3; the service frames all responses by their length. */
function bodyLength(
  status: number,
  fields: ReadonlyMap<string, string>,
  isToHead: boolean,
): number | string {
  if (fields.has('transfer-encoding')) return 'an answer with Transfer-Encoding';
  const length = fields.get('content-length');
  const isBodiless = status < 200 || status === 204;
  // RFC 9110, 8.6
  if (isBodiless) return length === undefined ? 0 : `${status} with Content-Length`;
  if (length === undefined) return mayLackLength(status, fields, isToHead);
  if (!/^(0|[1-9]\d{0,7})$/.test(length)) return `Content-Length: ${length}`;
  return isToHead || status === 304 ? 0 : Number(length);
}
