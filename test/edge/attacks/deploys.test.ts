import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EdgeFixture, fronts, startEdgeFixture } from '../support/fixture.ts';
import { head } from './raw.ts';

const hostname = 'docs.acme.test';
const answers = new Map([
  ['HEAD /', `${head('HTTP/1.1 200 OK', 'Content-Length: 5')}body!`],
  ['GET /204', `${head('HTTP/1.1 204 No Content', 'X: y')}body!`],
  ['GET /204-length', `${head('HTTP/1.1 204 No Content', 'Content-Length: 5')}body!`],
  ['GET /304', `${head('HTTP/1.1 304 Not Modified', 'ETag: "x"', 'Content-Length: 5')}body!`],
  ['GET /behind', `${head('HTTP/1.1 200 OK', 'Content-Length: 2')}ok and more`],
]);

describe.each(fronts)('With %s in front', (front) => {
  let edge: EdgeFixture;
  let deployUrl = '';
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const [method, path] = bytes.toString('latin1').split(' ');
      socket.write(answers.get(`${method} ${path}`) ?? 'nonsense\r\n\r\n');
    });
  });

  beforeAll(async () => {
    edge = await startEdgeFixture({}, { front });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    deployUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
    await edge.publish(hostname, deployUrl);
  });
  afterAll(async () => {
    await edge.close();
    server.close();
  });

  it.each([
    ['HEAD', '/', 200, ''],
    ['GET', '/204', 204, ''],
    ['GET', '/204-length', 204, ''],
    ['GET', '/304', 304, ''],
    ['GET', '/behind', 200, 'ok'],
  ])(
    '%s %s with a forbidden body still reaches the visitor as a valid response',
    async (method, path, status, body) => {
      for (let times = 1; times <= 3; times += 1) {
        const reply = await edge.https({ hostname, method, path });
        expect([reply.status, reply.body]).toEqual([status, body]);
      }
      if (path === '/304') expect(edge.warnings.length).toBeGreaterThan(0);
    },
  );
});
