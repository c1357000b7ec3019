import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/cli/client.ts';
import { readEvents, type SseMessage } from '../../src/cli/event-source.ts';

/** Answers each request with the next of `answers`; returns events and Last-Event-IDs. */
async function receive(answers: readonly ((response: ServerResponse) => void)[], count: number) {
  const after: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    const answer = answers[after.length];
    after.push(headers['last-event-id'] as string | undefined); // sent once, if at all
    answer?.(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const connection = connect(`http://127.0.0.1:${port}`, { API_KEY: 'a key' });
  if (!connection.ok) throw new Error('the address is right');
  const received: SseMessage[] = [];
  for await (const one of readEvents(connection.open, '/v1/x', new AbortController().signal)) {
    received.push(one);
    if (received.length === count) break;
  }
  return { received, after };
}

const says =
  (...texts: readonly string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const text of texts) response.write(text);
  };
const opening = 'retry: 1\nid: 41\n\n';

test('An event arrives complete, however it is split', async () => {
  const pieces = [
    opening,
    'id: 42\nevent: domain.li',
    've\ndata: {"n":1}\n',
    '\n: heartbeat\r\n\r\n',
  ];
  const { received } = await receive([says(...pieces)], 3);
  expect(received).toEqual([
    { kind: 'opened' },
    { kind: 'event', type: 'domain.live', data: { n: 1n } },
    { kind: 'alive' },
  ]);
});

test('An interrupted event stream resumes after the last event number', async () => {
  const breaksOff = (response: ServerResponse) => {
    says(opening)(response);
    response.end('id: 43\nevent: a\ndata: 1\n\nid: 44\nevent: b\nda');
  };
  const away = (response: ServerResponse) => {
    response.writeHead(503).end('{"code":"unavailable","message":"Shortly.","status":503}');
  };
  const { received, after } = await receive([breaksOff, away, says(': heartbeat\n\n')], 6);
  const kinds = ['opened', 'event', 'away', 'away', 'opened', 'alive'];
  expect(received.map(({ kind }) => kind)).toEqual(kinds);
  expect(after).toEqual([undefined, '43', '43']);
});

test('An incomplete event is not awaited', async () => {
  const endless = (response: ServerResponse) => {
    says('retry: 1\n\ndata: ')(response);
    const more = 'x'.repeat(65_536);
    const write = () => {
      while (response.write(more)) if (response.destroyed) return;
    };
    response.on('drain', write).on('error', () => {});
    write();
  };
  const { received } = await receive([endless, says(': heartbeat\n\n')], 4);
  expect(received.map(({ kind }) => kind)).toEqual(['opened', 'away', 'opened', 'alive']);
});

test.each([
  [403, '{"code":"insufficient_scope","message":"No.","status":403}', /^No\. .*insufficient_scope/],
  [200, '[]', /is not a Signpost service/],
])('A permanent error ends the event stream: %i %s', async (status, text, problem) => {
  const refuses = (response: ServerResponse) => void response.writeHead(status).end(text);
  const { received } = await receive([refuses], 2);
  const problems = received.map((one) =>
    'refusal' in one && 'problem' in one.refusal ? one.refusal.problem : '',
  );
  expect(problems).toEqual([expect.stringMatching(problem)]);
});
