import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { heldTooMuch } from '../../../src/edge/proxy/slow-readers.ts';
import { createVisitorLimits } from '../../../src/edge/visitor-limits.ts';
import { uncounted } from '../../../src/ops/metrics/traffic.ts';
import { closeAfterEach } from '../../support/closings.ts';
import { until } from '../../support/world.ts';
import {
  anybody,
  type EdgeFixture,
  fronts,
  startDeploy,
  startEdgeFixture,
} from '../support/fixture.ts';
import { head, openTls, type Raw } from './raw.ts';

const hostname = 'docs.acme.test';
const other = 'www.rival.test';
const closings = closeAfterEach();

/** More than the kernel buffers. */
const large = Buffer.alloc(64_000_000);

/** Two projects with a deploy that responds on demand. */
async function start(...given: Parameters<typeof startEdgeFixture>) {
  const edge = await startEdgeFixture(...given);
  closings.push(edge.close);
  const held: ServerResponse[] = [];
  const deploy = await startDeploy((request, response) => {
    if (request.url === '/now') response.end('now');
    else if (request.url === '/endless') response.end(large);
    else held.push(response);
  });
  closings.push(deploy.close);
  await edge.publish(hostname, deploy.url);
  await edge.publish(other, deploy.url, { projectId: 'rival' });
  return { edge, held };
}

async function ask(edge: EdgeFixture, path: string): Promise<Raw> {
  const visitor = await openTls(edge, hostname);
  closings.push(() => visitor.socket.destroy());
  visitor.write(head(`GET ${path} HTTP/1.1`, `Host: ${hostname}`));
  return visitor;
}

describe.each(fronts)('With %s in front', (front) => {
  test('a project at its request limit is busy while another one is served', async () => {
    const limits = { total: 100, perKey: 3 };
    const { edge, held } = await start({}, { requests: limits, front });
    for (let count = 1; count <= 3; count += 1) await ask(edge, '/wait');
    await until('three are under way', async () => held.length === 3);
    const refused = await edge.https({ hostname, path: '/now' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(refused.body).toContain('Too many requests');
    expect((await edge.https({ hostname: other, path: '/now' })).status).toBe(200);
    held[0]?.end('at last');
    await until('there is room again', async () => {
      return (await edge.https({ hostname, path: '/now' })).status === 200;
    });
  });

  test('a request stops counting when its visitor leaves', async () => {
    const limits = { total: 2, perKey: 2 };
    const { edge, held } = await start({}, { requests: limits, front });
    const visitors = [await ask(edge, '/wait'), await ask(edge, '/wait')];
    await until('two are under way', async () => held.length === 2);
    expect((await edge.https({ hostname: other, path: '/now' })).status).toBe(503);
    for (const { socket } of visitors) socket.destroy();
    await until('there is room again', async () => {
      return (await edge.https({ hostname: other, path: '/now' })).status === 200;
    });
  });

  test('unread responses are ended when they hold more memory than allowed in total', async () => {
    const { edge } = await start({ heldBytesMax: 500_000, heldCheckMs: 50 }, { front });
    for (let count = 1; count <= 20; count += 1) (await ask(edge, '/endless')).socket.pause();
    await until('some are ended', async () => edge.refusals.includes('held_bytes'));
    expect((await edge.https({ hostname: other, path: '/now' })).status).toBe(200);
  });
});

test('an address with too many handshakes is closed early while others are served', async () => {
  const visitors = { ...anybody, handshakesPerSecondAndAddress: 1 };
  const { edge } = await start({}, { visitors });
  const from = (localAddress: string) =>
    edge
      .https({ hostname, path: '/now', localAddress })
      .then(({ status }) => status)
      .catch(() => 'closed');
  const answers: unknown[] = [];
  for (let count = 1; count <= 12; count += 1) answers.push(await from('127.0.0.1'));
  expect(answers).toContain('closed');
  expect(await from('127.0.0.2')).toBe(200);
  expect(edge.warnings).toContainEqual(
    expect.objectContaining({ address: '127.0.0.1', msg: 'handshakes of visitors were refused' }),
  );
});

test('an address that floods a connection with requests is blocked for ten seconds', async () => {
  const { edge } = await start();
  const request = head('GET /wait HTTP/1.1', `Host: ${hostname}`);
  const visitor = await openTls(edge, hostname);
  visitor.write(request.repeat(1_500));
  await visitor.closed;
  const visit = (localAddress: string) => edge.https({ hostname, path: '/now', localAddress });
  await expect(visit('127.0.0.1')).rejects.toThrow();
  expect((await visit('127.0.0.2')).status).toBe(200);
});

test('a block ends, and does not apply to trusted proxies', () => {
  let now = 0;
  const isTrusted = (address: string) => address === '192.0.2.9';
  const limits = createVisitorLimits(
    { ...anybody, isTrusted },
    { warn() {} } as never,
    uncounted,
    () => now,
  );
  const from = (address: string) =>
    Object.defineProperty(new Socket(), 'remoteAddress', { value: address });
  for (const address of ['192.0.2.1', '192.0.2.9']) limits.penalize(from(address));
  expect(limits.admitConnection(from('192.0.2.1'))).toBe(false);
  expect(limits.admitConnection(from('192.0.2.9'))).toBe(true);
  now += 10_000;
  expect(limits.admitConnection(from('192.0.2.1'))).toBe(true);
});

test('handshakes are limited per address and in total, and the limits refill', () => {
  let now = 0;
  const rules = { ...anybody, handshakesPerSecond: 5, handshakesPerSecondAndAddress: 1 };
  const warnings: unknown[] = [];
  const log = { warn: (fields: unknown) => void warnings.push(fields) };
  const limits = createVisitorLimits(rules, log as never, uncounted, () => now);
  const shake = (remoteAddress: string) => limits.admitHandshake({ remoteAddress } as never);
  const count = (address: string, tries: number) =>
    Array.from({ length: tries }, () => shake(address)).filter(Boolean).length;
  expect(count('192.0.2.1', 9)).toBe(5);
  expect(count('2001:db8::1', 3) + count('2001:db8::2', 3)).toBe(5); // one /64
  expect(count('192.0.2.2', 1)).toBe(0); // ten in total
  now += 1_000;
  expect(count('192.0.2.1', 3)).toBe(1);
});

test.each([
  [[1, 2, 3], 6, []],
  [[1, 2, 3], 5, [3]],
  [[5, 1, 4], 4, [5, 4]],
  [[], 0, []],
])('of %j bytes held with %i allowed, these end: %j', (held, max, ended) => {
  const connections = held.map((writableLength) => ({ writableLength }));
  expect(heldTooMuch(connections, max).map((one) => one.writableLength)).toEqual(ended);
});
