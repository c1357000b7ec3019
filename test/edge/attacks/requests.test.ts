import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { type EdgeFixture, fronts, startDeploy, startEdgeFixture } from '../support/fixture.ts';
import { head, openPlain, openTls, statuses } from './raw.ts';

/* Requests with an ambiguous length or end, and others that are not HTTP. */

const hostname = 'docs.acme.test';
const host = `Host: ${hostname}`;
/** Without it the edge would wait for the next request. */
const CLOSE = 'Connection: close';
const inner = head('GET /smuggled HTTP/1.1', host);
const chunk = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n`;
const END = '0\r\n\r\n';

/** A server that reads the length differently takes `inner` for a separate request. */
const ambiguous: readonly (readonly [what: string, bytes: string])[] = [
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

const prefixed = 'shared.acme.test';

/** Marks a body that did not arrive completely. */
const CUT_OFF = '(cut off)';

describe.each(fronts)('With %s in front', (front) => {
  let edge: EdgeFixture;
  /** Closes silent connections soon, so that an attack ends. */
  let impatient: EdgeFixture;
  let deploy: Awaited<ReturnType<typeof startDeploy>>;
  type Seen = { readonly request: IncomingMessage; readonly body: string };
  let seen: Seen[] = [];

  beforeAll(async () => {
    edge = await startEdgeFixture({}, { front });
    impatient = await startEdgeFixture(
      { keepAliveMs: 200, headersMs: 1_000, requestMs: 1_000 },
      { front },
    );
    deploy = await startDeploy(async (request, response) => {
      const body = await text(request).catch(() => CUT_OFF);
      seen.push({ request, body });
      response.end('fine\n');
    });
    await edge.publish(hostname, deploy.url);
    await impatient.publish(hostname, deploy.url);
    await edge.publish(prefixed, `${deploy.url}/tenants/a`, { projectId: 'shared' });
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(async () => {
    await edge.close();
    await impatient.close();
    await deploy.close();
  });

  /** Sends exactly these bytes. Returns the edge's output and the deploy's requests. */
  async function say(bytes: string, name = hostname, to = edge) {
    const visitor = await openTls(to, name);
    visitor.write(bytes);
    return {
      answers: statuses(await visitor.closed),
      paths: seen.map(({ request }) => request.url),
    };
  }

  it.each(ambiguous)('%s: smuggles no request to a deploy', async (_what, bytes) => {
    const { answers, paths } = await say(bytes, hostname, impatient);
    // RFC 9112, 6.1 lets Go accept some of them: every response must be complete.
    if (front === 'caddy') {
      const whole = seen.filter(({ body }) => body !== CUT_OFF);
      expect(answers.length).toBeGreaterThanOrEqual(whole.length);
      return;
    }
    expect(paths).not.toContain('/smuggled');
    expect(answers.every((status) => status >= 400)).toBe(true);
  });

  it.each(['gzip, chunked', 'deflate, gzip, chunked', 'identity, chunked'])(
    'refuses Transfer-Encoding: %s at both ports',
    async (coding) => {
      const post = head('POST /a HTTP/1.1', host, `Transfer-Encoding: ${coding}`);
      const bytes = `${post}${chunk('x')}${END}`;
      const status = front === 'caddy' ? 501 : 400;
      expect(await say(bytes)).toEqual({ answers: [status], paths: [] });
      const visitor = await openPlain(edge);
      visitor.write(bytes);
      expect(statuses(await visitor.closed)).toEqual([status]);
    },
  );

  const fields = (count: number) => Array.from({ length: count }, (_, at) => `x-${at}: y`);

  it.each(['GET', 'POST'])(
    '%s with more than 100 fields gets 431 and does not reach the deploy',
    async (method) => {
      const more = method === 'POST' ? ['Content-Length: 4'] : [];
      const lines = [`${method} /a HTTP/1.1`, host, ...fields(100), ...more];
      const { answers, paths } = await say(
        `${head(...lines)}${more.length > 0 ? 'body' : ''}`,
        hostname,
        impatient,
      );
      expect([answers, paths]).toEqual([[431], []]);
    },
  );

  test('a hundred fields arrive with the body', async () => {
    const more = [CLOSE, 'Content-Length: 4', 'Authorization: me'];
    const lines = ['POST /a HTTP/1.1', host, ...fields(96), ...more];
    const { answers } = await say(`${head(...lines)}body`);
    expect(answers).toEqual([200]);
    expect(seen[0]?.request.headers.authorization).toBe('me');
    expect(seen[0]?.body).toBe('body');
  });

  test('a head of more than 16 KiB gets 431 at both ports', async () => {
    const long = head('GET /a HTTP/1.1', host, `x: ${'y'.repeat(17_000)}`);
    expect(await say(long)).toEqual({ answers: [431], paths: [] });
    const visitor = await openPlain(edge);
    visitor.write(long);
    expect(statuses(await visitor.closed)).toEqual([431]);
  });

  it.each([
    'Signpost-Primary-Domain',
    'Signpost_Primary_Domain',
    'signpost_Primary-Domain',
    'Signpost-Anything',
    'X-Forwarded-For',
    'X_Forwarded_For',
    'X_FORWARDED-HOST',
    'X-Forwarded-Port',
    'X-Forwarded-Prefix',
    'X_Forwarded_Prefix',
    'X-Forwarded-Server',
    'X-Forwarded-Ssl',
    'Forwarded',
    'X-Real-IP',
    'X_Real_IP',
    'X-Client-IP',
    'X-Cluster-Client-IP',
    'True-Client-IP',
    'True_Client_IP',
    'CF-Connecting-IP',
    'CF_Connecting_IP',
    'Fastly-Client-IP',
    'X-Original-URL',
    'X_Original_URL',
    'X-Rewrite-URL',
    'X-Original-Host',
    'Front-End-Https',
    'Proxy',
    'Content_Length',
    'Transfer_Encoding',
  ])('%s is not forwarded', async (name) => {
    await say(head('GET /a HTTP/1.1', host, `${name}: evil`, 'X-Mine: kept', CLOSE));
    const [{ request } = { request: null }] = seen;
    expect(request?.headers['x-mine']).toBe('kept');
    expect(request?.rawHeaders.join('\n')).not.toContain('evil');
  });

  it.each([
    ['DOCS.Acme.Test', hostname],
    [`${hostname}.`, hostname],
    [`${hostname}:1`, hostname],
    [`${hostname}:443`, hostname],
    [`Docs.Acme.Test.:99999`, hostname],
  ])('a deploy receives the host %s in normalized form', async (written, received) => {
    await say(head('GET /a HTTP/1.1', `Host: ${written}`, CLOSE));
    const [{ request } = { request: null }] = seen;
    expect([request?.headers.host, request?.headers['x-forwarded-host']]).toEqual([
      received,
      received,
    ]);
  });

  test('a deploy receives the port when it is not 443', async () => {
    const written = `${hostname.toUpperCase()}:${edge.ports.httpsPort}`;
    await say(head('GET /a HTTP/1.1', `Host: ${written}`, CLOSE));
    expect(seen[0]?.request.headers.host).toBe(written.toLowerCase());
  });

  test('the edge answers TRACE itself at both ports', async () => {
    const trace = head('TRACE /a HTTP/1.1', host, 'Cookie: secret');
    expect(await say(trace, hostname, impatient)).toEqual({ answers: [405], paths: [] });
    const visitor = await openPlain(impatient);
    visitor.write(trace);
    const received = await visitor.closed;
    expect(statuses(received)).toEqual([405]);
    expect(received).not.toContain('secret');
  });

  /** The path that reaches a deploy below /tenants/a. */
  it.each([
    ['/b', '/tenants/a/b'],
    ['/b/../c?x=/../y', '/tenants/a/c?x=/../y'],
    ['/../b', '/tenants/a/b'],
    ['/../../../etc', '/tenants/a/etc'],
    ['/b/..', '/tenants/a/'],
    ['/b/.', '/tenants/a/b/'],
    ['/./b', '/tenants/a/b'],
    ['/%2e%2e/b', '/tenants/a/b'],
    ['/%2E./b', '/tenants/a/b'],
    ['/.%2e/.%2E/b', '/tenants/a/b'],
    ['/...', '/tenants/a/...'],
    ['/..b/c..', '/tenants/a/..b/c..'],
    ['/b%20c//d', '/tenants/a/b%20c//d'],
  ])('%s below an upstream path becomes %s', async (path, expected) => {
    const bytes = head(`GET ${path} HTTP/1.1`, `Host: ${prefixed}`, CLOSE);
    expect(await say(bytes, prefixed)).toEqual({ answers: [200], paths: [expected] });
  });

  it.each([
    '/..%2fb',
    '/%2e%2e%2Fb',
    '/b/..%5c..%5cc',
    '/..\\b',
    '/b%2f..',
    '/..;/b',
    '/%2e%2e%3bx/b',
    '/%2f%2e%2e/b',
  ])('%s, which would escape the upstream path, gets 400', async (path) => {
    const bytes = head(`GET ${path} HTTP/1.1`, `Host: ${prefixed}`, CLOSE);
    expect(await say(bytes, prefixed)).toEqual({ answers: [400], paths: [] });
  });

  test('without an upstream path, a path is forwarded byte for byte', async () => {
    const path = '/a/../b/%2e%2e/..%2f?c=../d';
    expect(await say(head(`GET ${path} HTTP/1.1`, host, CLOSE))).toEqual({
      answers: [200],
      paths: [path],
    });
  });
});
