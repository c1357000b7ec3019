/** Malformed requests from known attacks on servers. */
import { type Message, message, type Outcome } from './conversation.ts';

const pet = '{"name":"odd","categoryId":1}';

/** A head with an admin key, so that only the head can be the reason for a rejection. */
export type MakeHead = (line: string, ...fields: readonly string[]) => string;

export function headWith(key: string): MakeHead {
  return (line, ...fields) =>
    `${[line, 'Host: x', `Authorization: Bearer ${key}`, ...fields].join('\r\n')}\r\n\r\n`;
}

/** `isNeverDone`: another server may see a different request in it. */
function odd(octets: string, outcome: Outcome, isNeverDone = false): Message {
  return message(octets, outcome, { isNeverDone });
}

const many = (count: number) => Array.from({ length: count }, (_, n) => `X${n}: 1`);

/** Strange, but answered like any request, because each end is unambiguous. */
export function strangeRequests(head: MakeHead): readonly Message[] {
  const get = (...fields: readonly string[]) => head('GET /v1/pets HTTP/1.1', ...fields);
  return [
    odd('GET /v1/pets HTTP/1.1\r\nX: 1\r\n\r\n', 'answered', true), // no Host: RFC 9112, 3.2
    odd(get('Host: y'), 'answered', true), // two Hosts: RFC 9112, 3.2
    odd(get(...many(98)), 'answered'),
    odd(get(...many(99)), 'answered'),
    odd(get(...many(400)), 'answered'),
    odd(get(`X-Request-Id: ${'x'.repeat(65)}`), 'answered'),
    odd(get('X-Request-Id: a', 'X-Request-Id: b'), 'answered'),
    odd(get('Expect: miracles'), 'answered'),
    odd('GET /healthz HTTP/1.0\r\n\r\n', 'answered'),
    odd('GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', 'answered'),
  ];
}

/** Not HTTP, or not acceptable. */
export function refusedMessages(head: MakeHead): readonly Message[] {
  const get = (...fields: readonly string[]) => head('GET /v1/pets HTTP/1.1', ...fields);
  return [
    odd(head('BREW /v1/pets HTTP/1.1'), 'refused'),
    odd(head('get /v1/pets HTTP/1.1'), 'refused'),
    odd(head('GET /v1/pets HTTP/9.9'), 'refused'),
    odd(head('GET /v1/pets HTTX/1.1'), 'refused'),
    odd(head('GET /v1/p ets HTTP/1.1'), 'refused'),
    odd(head('GET v1/pets HTTP/1.1'), 'refused'),
    odd(head('CONNECT a.example:443 HTTP/1.1'), 'refused'),
    odd('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'refused'), // RFC 9113, 3.4
    odd('\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', 'refused'), // TLS: a client hello
    odd('\0\0\0\0', 'refused'),
    odd('SSH-2.0-OpenSSH_9.6\r\n', 'refused'),
    odd('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n', 'refused'),
    odd(get('nonsense'), 'refused'),
    odd(get(': empty'), 'refused'),
    odd(get('X : 1'), 'refused', true), // RFC 9112, 5.1
    odd(get('X\0: 1'), 'refused'),
    odd(get('X\xff: 1'), 'refused'),
    odd(get('X: \0'), 'refused', true), // RFC 9110, 5.5
    odd(get('X: a\rY: b'), 'refused', true),
    odd(get(`X: ${'x'.repeat(16_500)}`), 'refused'),
    odd(get(...many(40).map((field) => field + 'x'.repeat(1_000))), 'refused'),
    odd(head(`GET /${'x'.repeat(20_000)} HTTP/1.1`), 'refused'),
  ];
}

/** Input that servers handle differently, and endless input. */
export function wildMessages(head: MakeHead): readonly Message[] {
  const get = (...fields: readonly string[]) => head('GET /v1/pets HTTP/1.1', ...fields);
  const post = (...fields: readonly string[]) =>
    head('POST /v1/pets HTTP/1.1', 'Content-Type: application/json', ...fields);
  const chunked = post('Transfer-Encoding: chunked');
  const octets = [
    'GET /v1/pets\r\n', // HTTP/0.9
    head('GET /v1/pets'),
    head('GET  /v1/pets HTTP/1.1'), // RFC 9112, 3
    `\r\n\r\n${get()}`, // RFC 9112, 2.2, and the next ones
    ` ${get()}`,
    get().replaceAll('\r\n', '\n'),
    get().replace('\r\n', '\n'),
    'GET /v1/pets HTTP/1.1\r\n Host: x\r\n\r\n',
    get('X: 1', ' folded'), // RFC 9112, 5.2
    head('GET /v1/p\0ts HTTP/1.1'),
    head('GET /v1/p\xc3\xa9ts HTTP/1.1'),
    head('GET http:/x HTTP/1.1'),
    '',
    'G',
    'GET /v1/pets HTTP/1.1\r\n',
    'GET /v1/pets HTTP/1.1\r\nHost: x\r\n',
    post('Content-Length: 5000') + pet,
    post('Content-Length: 9000000') + pet,
    post('Content-Length: 5000', 'Expect: 100-continue'),
    post('Transfer-Encoding: chunked', 'Expect: 100-continue'),
    chunked,
    `${chunked}${pet.length.toString(16)}\r\n${pet}\r\n`,
    `${chunked}ffffffff\r\n${pet}`,
    `${chunked}ffff`,
  ];
  return octets.map((text) => odd(text, 'wild'));
}
