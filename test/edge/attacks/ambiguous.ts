/** Requests with an ambiguous length or end, and others that are not HTTP. */
import { head } from './raw.ts';

export const hostname = 'docs.acme.test';
export const host = `Host: ${hostname}`;
/** Without it the edge would wait for the next request. */
export const CLOSE = 'Connection: close';
const inner = head('GET /smuggled HTTP/1.1', host);
const chunk = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n`;
const END = '0\r\n\r\n';

/** A server that reads the length differently takes `inner` for a separate request. */
export const ambiguous: readonly (readonly [what: string, bytes: string])[] = [
  [
    'CL.TE',
    `${head('POST /a HTTP/1.1', host, 'Content-Length: 6', 'Transfer-Encoding: chunked')}${END}${inner}`,
  ],
  [
    'TE.CL',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: chunked', 'Content-Length: 4')}${chunk(inner)}${END}`,
  ],
  [
    'TE.TE: two fields',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: chunked', 'Transfer-Encoding: x')}${END}${inner}`,
  ],
  [
    'TE.TE: chunked is not last',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: chunked, identity')}${END}${inner}`,
  ],
  [
    'TE.TE: an unknown coding',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: xchunked')}${END}${inner}`,
  ],
  [
    'TE.TE: a vertical tab',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: \u000bchunked')}${END}${inner}`,
  ],
  [
    'TE with a space before the colon',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding : chunked')}${END}${inner}`,
  ],
  [
    'TE in a folded line',
    `${head('POST /a HTTP/1.1', host, 'X: y\r\n Transfer-Encoding: chunked', 'Content-Length: x')}${END}${inner}`,
  ],
  [
    'TE in HTTP/1.0',
    `${head('POST /a HTTP/1.0', host, 'Transfer-Encoding: chunked', 'Content-Length: 6')}${END}${inner}`,
  ],
  [
    'two lengths',
    `${head('POST /a HTTP/1.1', host, 'Content-Length: 0', `Content-Length: ${inner.length}`)}${inner}`,
  ],
  [
    'two equal lengths',
    `${head('POST /a HTTP/1.1', host, 'Content-Length: 1', 'Content-Length: 1')}x${inner}`,
  ],
  [
    'a list of lengths',
    `${head('POST /a HTTP/1.1', host, `Content-Length: 0, ${inner.length}`)}${inner}`,
  ],
  ['a length with a plus', `${head('POST /a HTTP/1.1', host, 'Content-Length: +0')}${inner}`],
  ['a length below zero', `${head('POST /a HTTP/1.1', host, 'Content-Length: -1')}${inner}`],
  ['a length in hexadecimal', `${head('POST /a HTTP/1.1', host, 'Content-Length: 0x0')}${inner}`],
  [
    'a length past 64 bits',
    `${head('POST /a HTTP/1.1', host, 'Content-Length: 99999999999999999999')}${inner}`,
  ],
  [
    'a chunk size past 64 bits',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: chunked')}fffffffffffffffff\r\n${inner}`,
  ],
  [
    'a chunk without its end',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: chunked')}1\r\nxy\r\n${END}${inner}`,
  ],
  [
    'chunk lines that end with LF',
    `${head('POST /a HTTP/1.1', host, 'Transfer-Encoding: chunked')}1\nx\n0\n\n${inner}`,
  ],
  ['a head that ends with LF', `POST /a HTTP/1.1\n${host}\nContent-Length: 0\n\n${inner}`],
  [
    'a bare CR in a field',
    `${head('POST /a HTTP/1.1', host, 'X: y\rTransfer-Encoding: chunked')}${inner}`,
  ],
  ['NUL in a field', `${head('GET /a HTTP/1.1', host, 'X: y\0z')}${inner}`],
  ['a space in a field name', `${head('GET /a HTTP/1.1', host, 'X Y: z')}${inner}`],
  ['a space in the target', `${head('GET /a b HTTP/1.1', host)}${inner}`],
  ['another version', `${head('GET /a HTTP/3.7', host)}${inner}`],
  ['a method in lower case', `${head('get /a HTTP/1.1', host)}${inner}`],
  ['CONNECT', `${head(`CONNECT ${hostname}:443 HTTP/1.1`, host)}${inner}`],
  ['two hosts', `${head('GET /a HTTP/1.1', host, 'Host: other.acme.test')}`],
  ['no host', `${head('GET /a HTTP/1.1')}`],
  ['a host with a user', `${head('GET /a HTTP/1.1', `Host: x@${hostname}`)}`],
  [
    'an absolute target of another host',
    `${head('GET https://shared.acme.test/a HTTP/1.1', host)}`,
  ],
];
