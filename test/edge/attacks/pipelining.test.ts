import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../support/world.ts';
import { type EdgeFixture, fronts, startDeploy, startEdgeFixture } from '../support/fixture.ts';
import { head, openTls, statuses } from './raw.ts';

const hostname = 'docs.acme.test';
const get = (path: string) => head(`GET ${path} HTTP/1.1`, `Host: ${hostname}`);

describe.each(fronts)('With %s in front', (front) => {
  let edge: EdgeFixture;
  /**
   * Disconnects from a deploy soon: Go does not notice a visitor who leaves with pipelined
   * requests.
   */
  let impatient: EdgeFixture;
  let deploy: Awaited<ReturnType<typeof startDeploy>>;
  /** Requests that the deploy has received and not answered. */
  let asked: { request: IncomingMessage; response: ServerResponse }[] = [];
  let open = 0;
  let openMax = 0;

  beforeAll(async () => {
    edge = await startEdgeFixture({}, { front });
    impatient =
      front === 'own'
        ? edge
        : await startEdgeFixture({ firstByteMs: 2_000, keepAliveMs: 200 }, { front });
    deploy = await startDeploy((request, response) => {
      open += 1;
      openMax = Math.max(openMax, open);
      response.once('close', () => {
        open -= 1;
      });
      asked.push({ request, response });
      if (request.url?.startsWith('/now')) response.end(`\0${request.url}\0`);
      if (request.url === '/large') response.end(Buffer.alloc(8_000_000, '\0'));
    });
    await edge.publish(hostname, deploy.url);
    await impatient.publish(hostname, deploy.url);
  });
  beforeEach(() => {
    asked = [];
    openMax = 0;
  });
  afterAll(async () => {
    await edge.close();
    if (impatient !== edge) await impatient.close();
    await deploy.close();
  });

  test('pipelined requests reach the deploy one at a time and are answered in order', async () => {
    const visitor = await openTls(edge, hostname);
    visitor.write([1, 2, 3, 4, 5].map((n) => get(`/now/${n}`)).join(''));
    await until('the last answer', async () => visitor.received().includes('/now/5'));
    expect(visitor.received().match(/\0[^\0]+\0/g)).toEqual(
      [1, 2, 3, 4, 5].map((n) => `\0/now/${n}\0`),
    );
    expect(openMax).toBe(1);
    visitor.socket.destroy();
  });

  test('a visitor who leaves has no requests under way', async () => {
    const visitor = await openTls(edge, hostname);
    visitor.write(get('/wait').repeat(10));
    await until('the deploy has the request', async () => asked.length === 1);
    visitor.socket.destroy();
    await until('nothing is under way', async () => open === 0);
    expect(asked).toHaveLength(1);
  });

  test('an unread file is buffered once, however often it is requested', async () => {
    const visitor = await openTls(edge, hostname);
    visitor.socket.pause();
    visitor.write(get('/large').repeat(15));
    await until('the deploy has the request', async () => asked.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(asked).toHaveLength(1);
    visitor.socket.destroy();
    await until('nothing is under way', async () => open === 0);
  });

  test('a WebSocket request behind another request only ends the connection', async () => {
    const visitor = await openTls(impatient, hostname);
    visitor.write(
      get('/wait') +
        head(
          'GET /chat HTTP/1.1',
          `Host: ${hostname}`,
          'Connection: Upgrade',
          'Upgrade: websocket',
          'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
          'Sec-WebSocket-Version: 13',
        ),
    );
    await visitor.closed;
    await until('nothing is under way', async () => open === 0);
    const after = await openTls(edge, hostname);
    after.write(get('/now'));
    await once(after.socket, 'data');
    expect(statuses(after.received())).toEqual([200]);
    after.socket.destroy();
  });

  /**
   * The last test, because its address is blocked afterwards. Caddy reads no further than it
   * answers.
   */
  test('1,500 pipelined requests open one connection to the deploy and lose their own', async () => {
    const visitor = await openTls(impatient, hostname);
    visitor.write(get('/wait').repeat(1_500));
    if (front === 'caddy') {
      await until('the deploy has the request', async () => asked.length > 0);
      visitor.socket.destroy();
    }
    await visitor.closed;
    expect(openMax).toBeLessThanOrEqual(1);
    await until('nothing is under way', async () => open === 0);
  });
});
