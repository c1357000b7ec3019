import { describe, expect, test } from 'vitest';
import { type Conversation, type Delivery, message } from './conversation.ts';
import { verdictOn } from './verdict.ts';

const trace = 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n';
const answer = (status: string, id: string, body: string, more = '') =>
  `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\n${trace}${more}` +
  `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const error =
  '{"code":"not_found","message":"Nothing.","status":404,"requestId":"r-1","docs":"/docs/errors#not_found"}';
const closes = 'connection: close\r\n';

const first = answer('200 OK', 'm0-0', '[]');
const head = answer('200 OK', 'm0-0', '[]').slice(0, -2);
const notFound = answer('404 Not Found', 'm0-0', error);
const farewell = answer('200 OK', 'm1-1', '{}', closes);
const refusal = answer(
  '400 Bad Request',
  'x',
  '{"code":"bad_request","message":"No.","status":400,"requestId":"r-1","docs":"/docs/errors#bad_request"}',
  closes,
);

const request = message('GET / HTTP/1.1\r\n\r\n', 'answered', { echoes: true });
const waiting = { ...request, mayContinue: true };
const toHead = { ...request, isHead: true };
const refused = message('nonsense\r\n\r\n', 'refused');
const ambiguous = message('POST / HTTP/1.1\r\n\r\n', 'answered', { isNeverDone: true });
const spilling = message('GET / HTTP/1.1\r\n\r\nx', 'spills', { echoes: true });
const wild = message('GET / HTTP/1.1\r\n\r\n', 'wild');

function problemOf(
  said: Conversation['messages'][number],
  received: string,
  delivery: Delivery = { kind: 'whole' },
): string | null {
  const talk = { received, sent: 0, fault: null, span: { from: 0, to: 0 } };
  return verdictOn({ messages: [said], delivery }, { ...talk, endedBy: 'server' }).problem;
}

describe('verdictOn accepts', () => {
  test.each([
    ['a response and the end', request, first + farewell],
    ['a response to HEAD', toHead, head + farewell],
    ['an expected 100', waiting, `HTTP/1.1 100 Continue\r\n\r\n${first}${farewell}`],
    ['an Error', request, notFound + farewell],
    ['an error that closes', refused, refusal],
    ['a response that announces the end', request, answer('200 OK', 'm0-0', '', closes)],
    ['an extra response to surplus octets', spilling, first + refusal],
    ['a rejection of an unknown message', wild, refusal],
  ])('%s', (_what, said, received) => {
    expect(problemOf(said, received)).toBeNull();
  });

  test('verdictOn accepts a response that the client cut off', () => {
    const aborted = { kind: 'aborted', at: 9, turns: 0, isReset: false } as const;
    expect(problemOf(request, first.slice(0, 40), aborted)).toBeNull();
  });
});

describe('verdictOn rejects', () => {
  test.each([
    ['a missing response', request, ''],
    ['a missing response to the farewell', request, first],
    ['two responses', request, first + first + farewell],
    ['a response after the last one', request, farewell.replace('m1-1', 'm0-0') + farewell],
    ['a response with another id', request, first.replace('m0-0', 'm1-1') + farewell],
    ['a response to the content of a body', ambiguous, refusal.replace(': x\r', ': smuggled\r')],
    ['half a response', request, first + farewell.slice(0, -1)],
    ['a body for HEAD', toHead, first + farewell],
    ['an unexpected 100', request, `HTTP/1.1 100 Continue\r\n\r\n${first}${farewell}`],
    ['a server error', request, answer('500 Oh', 'm0-0', error) + farewell],
    ['an Error with another status', request, notFound.replace('404 N', '409 N') + farewell],
    ['an unknown Error', request, notFound.replace('"not_found"', '"lost_foun"') + farewell],
    [
      'an Error with extra fields',
      request,
      answer('404 N', 'm0-0', `${error.slice(0, -1)},"a":1}`) + farewell,
    ],
    ['a missing Error', request, answer('404 Not Found', 'm0-0', '<html>') + farewell],
    ['a missing request id', request, first.replace('x-request-id', 'x') + farewell],
    ['a missing trace', request, first.replace('traceparent', 'x') + farewell],
    ['a missing length', request, first.replace('content-length', 'x') + farewell],
    ['a length too small', request, first.replace('length: 2', 'length: 1') + farewell],
    ['a repeated field', request, first.replace(trace, trace + trace) + farewell],
    ['a bare line feed', request, first.replace('\r\n', '\n') + farewell],
    ['chunks', request, first.replace('content-length: 2', 'transfer-encoding: chunked')],
    ['success for input that is not HTTP', refused, answer('200 OK', 'x', '[]', closes)],
    ['an open connection after input that is not HTTP', refused, refusal.replace(closes, '')],
    ['success for an ambiguous message', ambiguous, answer('201 Created', 'x', '{}') + farewell],
    ['more responses than heads', wild, refusal.replace(closes, '').repeat(4)],
  ])('%s', (_what, said, received) => {
    expect(problemOf(said, received)).not.toBeNull();
  });
});
