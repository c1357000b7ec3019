/** What the fuzz run would notice: it is worth as much as the judge is. */
import { describe, expect, test } from 'vitest';
import { type Conversation, type Delivery, message } from './conversation.ts';
import { verdictOn } from './verdict.ts';

const trace = 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n';
const answer = (status: string, id: string, body: string, more = '') =>
  `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\n${trace}${more}` +
  `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const error = '{"code":"not_found","message":"Nothing.","status":404}';
const closes = 'connection: close\r\n';

const first = answer('200 OK', 'm0-0', '[]');
const head = answer('200 OK', 'm0-0', '[]').slice(0, -2);
const notFound = answer('404 Not Found', 'm0-0', error);
const farewell = answer('200 OK', 'm1-1', '{}', closes);
const refusal = answer(
  '400 Bad Request',
  'x',
  '{"code":"bad_request","message":"No.","status":400}',
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

describe('nothing is wrong with', () => {
  test.each([
    ['an answer and the end', request, first + farewell],
    ['an answer to HEAD', toHead, head + farewell],
    ['a 100 that was waited for', waiting, `HTTP/1.1 100 Continue\r\n\r\n${first}${farewell}`],
    ['an Error', request, notFound + farewell],
    ['a refusal that closes', refused, refusal],
    ['an answer that says that it is the last one', request, answer('200 OK', 'm0-0', '', closes)],
    ['another answer to what was too much', spilling, first + refusal],
    ['a refusal of what nobody knows', wild, refusal],
  ])('%s', (_what, said, received) => {
    expect(problemOf(said, received)).toBeNull();
  });

  test('an answer that the client has cut off', () => {
    const aborted = { kind: 'aborted', at: 9, turns: 0, isReset: false } as const;
    expect(problemOf(request, first.slice(0, 40), aborted)).toBeNull();
  });
});

describe('something is wrong with', () => {
  test.each([
    ['no answer', request, ''],
    ['no answer to the farewell', request, first],
    ['two answers', request, first + first + farewell],
    ['an answer after the last one', request, farewell.replace('m1-1', 'm0-0') + farewell],
    ['an answer to somebody else', request, first.replace('m0-0', 'm1-1') + farewell],
    ['an answer to what was in a body', ambiguous, refusal.replace(': x\r', ': smuggled\r')],
    ['half an answer', request, first + farewell.slice(0, -1)],
    ['a body to HEAD', toHead, first + farewell],
    ['a 100 out of nowhere', request, `HTTP/1.1 100 Continue\r\n\r\n${first}${farewell}`],
    ['a fault', request, answer('500 Oh', 'm0-0', error) + farewell],
    ['an Error of another status', request, notFound.replace('404 N', '409 N') + farewell],
    [
      'an Error that nobody knows',
      request,
      notFound.replace('"not_found"', '"lost_foun"') + farewell,
    ],
    [
      'more than an Error',
      request,
      answer('404 N', 'm0-0', `${error.slice(0, -1)},"a":1}`) + farewell,
    ],
    ['no Error', request, answer('404 Not Found', 'm0-0', '<html>') + farewell],
    ['no request id', request, first.replace('x-request-id', 'x') + farewell],
    ['no trace', request, first.replace('traceparent', 'x') + farewell],
    ['no length', request, first.replace('content-length', 'x') + farewell],
    ['a length too small', request, first.replace('length: 2', 'length: 1') + farewell],
    ['a field twice', request, first.replace(trace, trace + trace) + farewell],
    ['a bare line feed', request, first.replace('\r\n', '\n') + farewell],
    ['chunks', request, first.replace('content-length: 2', 'transfer-encoding: chunked')],
    ['success of what is no HTTP', refused, answer('200 OK', 'x', '[]', closes)],
    ['a connection that survives what is no HTTP', refused, refusal.replace(closes, '')],
    ['success of what may mean two things', ambiguous, answer('201 Created', 'x', '{}') + farewell],
    ['more answers than heads', wild, refusal.replace(closes, '').repeat(4)],
  ])('%s', (_what, said, received) => {
    expect(problemOf(said, received)).not.toBeNull();
  });
});
