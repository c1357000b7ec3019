/** Checks `Signpost-Signature` as docs/integrate/deploy-requests.md describes it. */

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY } from '../../src/core/time.ts';
import { createSign } from '../../src/edge/proxy/upstream.ts';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { until } from '../support/world.ts';
import { type EdgeFixture, signingKey, startDeploy, startEdgeFixture } from './support/fixture.ts';
import { startWebSocketDeploy, webSocketRequest } from './support/websocket.ts';

const hostname = 'docs.acme.test';
const closings = closeAfterEach();
let edge: EdgeFixture;

beforeEach(async () => {
  edge = await startEdgeFixture();
  closings.push(edge.close);
});

type Got = Pick<IncomingMessage, 'headers'> & Partial<Pick<IncomingMessage, 'method' | 'url'>>;

/** Splits the field into its parts and computes the expected `v1` for a key generation. */
function partsOf({ method, url, headers }: Got) {
  const field = String(headers['signpost-signature']);
  const [, t = '', v1 = ''] = /^t=(\d+),v1=([0-9a-f]{64}(?:,v1=[0-9a-f]{64})?)$/.exec(field) ?? [];
  const lines = [t, method, headers.host, url, headers['x-forwarded-for']].join('\n');
  const by = (generation: number, project = 'acme') =>
    createHmac('sha256', signingKey(project, generation)).update(lines, 'latin1').digest('hex');
  return { t: Number(t), signatures: v1.split(',v1='), by };
}

async function publishEcho(path = '', more: Parameters<EdgeFixture['publish']>[2] = {}) {
  const deploy = await startDeploy(({ method, url, headers }, response) => {
    response.end(JSON.stringify({ method, url, headers }));
  });
  closings.push(deploy.close);
  await edge.publish(hostname, deploy.url + path, more);
}
const got = async (visit: Partial<Parameters<EdgeFixture['https']>[0]> = {}): Promise<Got> =>
  JSON.parse((await edge.https({ hostname, ...visit })).body);

describe('A request to a deploy', () => {
  it('is signed as received: time, method, host, path, query and address', async () => {
    await publishEcho();
    const before = Math.floor(Date.now() / 1_000);
    const { t, signatures, by } = partsOf(
      await got({ method: 'PUT', path: '/a%20b/../c?d=%2F&e' }),
    );
    expect(signatures).toEqual([by(1)]);
    expect(t).toBeGreaterThanOrEqual(before);
    expect(t).toBeLessThanOrEqual(Date.now() / 1_000);
  });

  it('is signed with the path of the upstream', async () => {
    await publishEcho('/site/');
    const request = await got({ path: '/x/../page?q' });
    expect(request.url).toBe('/site/page?q');
    const { signatures, by } = partsOf(request);
    expect(signatures).toEqual([by(1)]);
  });

  it('is signed for its own project only', async () => {
    await publishEcho('', { projectId: 'other' });
    const { signatures, by } = partsOf(await got());
    expect(signatures).toEqual([by(1, 'other')]);
    expect(signatures).not.toEqual([by(1)]);
  });

  it('has two signatures for a day after a rotation, the new one first', async () => {
    await publishEcho('', { signing: { generation: 4, oldEndsAt: Date.now() + DAY } });
    const { signatures, by } = partsOf(await got());
    expect(signatures).toEqual([by(4), by(3)]);
    await publishEcho('', { signing: { generation: 4, oldEndsAt: Date.now() - 1 } });
    const later = partsOf(await got());
    expect(later.signatures).toEqual([later.by(4)]);
  });

  it('drops a visitor’s Signpost-Signature in any spelling and keeps their Signature', async () => {
    await publishEcho();
    const headers = {
      'Signpost-Signature': `t=1,v1=${'0'.repeat(64)}`,
      signpost_signature: 't=1',
      Signature: 'sig1=:AAAA:',
      'Signature-Input': 'sig1=("@method")',
    };
    const request = await got({ headers: { host: hostname, ...headers } });
    const { signatures, by } = partsOf(request);
    expect(signatures).toEqual([by(1)]);
    expect(request.headers).not.toHaveProperty('signpost_signature');
    expect(request.headers).toMatchObject({
      signature: headers.Signature,
      'signature-input': headers['Signature-Input'],
    });
  });

  it('that opens a WebSocket is signed, too', async () => {
    let handshake: Got = { headers: {} };
    const deploy = await startWebSocketDeploy((peer) => {
      handshake = peer.handshake;
    });
    closings.push(deploy.close);
    await edge.publish(hostname, deploy.url);
    const [, socket] = await once(webSocketRequest(edge, hostname).request.end(), 'upgrade');
    const { signatures, by } = partsOf(handshake);
    expect(signatures).toEqual([by(1)]);
    socket.destroy();
  });

  it('reads each key only once', () => {
    const asked: string[] = [];
    const sign = createSign((projectId, generation) => {
      asked.push(`${projectId}/${generation}`);
      return signingKey(projectId, generation);
    });
    const signed = { method: 'GET', host: hostname, path: '/', forwardedFor: '192.0.2.1' };
    const signing = { generation: 2, oldEndsAt: Date.now() + DAY };
    for (let count = 0; count < 3; count += 1) sign({ projectId: 'acme', signing }, signed);
    expect(asked).toEqual(['acme/2', 'acme/1']);
  });
});

/** A deploy that runs the example on a free port. */
async function startExample(command: string, path: string, generation: number) {
  const port = await freePort();
  const key = Buffer.from(signingKey('acme', generation)).toString('base64');
  const env = { ...process.env, PORT: String(port), SIGNPOST_SIGNING_SECRET: `sigsec_${key}` };
  const child = spawn(command, [path], { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  closings.push(async () => {
    child.kill();
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until('it listens', () => fetch(url).catch(() => null));
  return url;
}

describe.each([
  ['docs/integrate/deploy.mjs', process.execPath],
  ['docs/integrate/deploy.py', 'python3'],
] as const)('The deploy in %s', (path, command) => {
  const start = (generation: number) => startExample(command, path, generation);
  const isLacking = command === 'python3' && lacks('python3', 'the example in Python');

  it.skipIf(isLacking)('accepts only requests through the edge', async () => {
    const url = await start(1);
    await edge.publish(hostname, url);
    const path = '/a?b=%20';
    expect((await edge.https({ hostname, path })).status).toBe(200);
    const direct = (headers: Record<string, string>) => fetch(url + path, { headers });
    expect((await direct({})).status).toBe(403);
    for (const field of ['', 't=,v1=', 'v1=00', `t=1,v1=${'0'.repeat(64)}`, 't', '=,=']) {
      expect((await direct({ 'signpost-signature': field })).status).toBe(403);
    }
  });

  it.skipIf(isLacking)('rejects old requests and those for another path or address', async () => {
    const url = await start(1);
    const host = new URL(url).host;
    const signing = { generation: 1, oldEndsAt: null };
    const at = async (secondsAgo: number, path = '/', forwardedFor = '192.0.2.1') => {
      const sign = createSign(signingKey, () => Date.now() - secondsAgo * 1_000);
      const signed = { method: 'GET', host, path: '/', forwardedFor: '192.0.2.1' };
      const field = sign({ projectId: 'acme', signing }, signed);
      const headers = { 'signpost-signature': field, 'x-forwarded-for': forwardedFor };
      return (await fetch(url + path, { headers })).status;
    };
    expect(await at(0)).toBe(200);
    expect([await at(240), await at(-240)]).toEqual([200, 200]);
    expect([await at(320), await at(-320)]).toEqual([403, 403]);
    expect([await at(0, '/other'), await at(0, '/', '192.0.2.2')]).toEqual([403, 403]);
  });

  it.skipIf(isLacking)('accepts the old secret and the new one', async () => {
    const signing = { generation: 2, oldEndsAt: Date.now() + DAY };
    for (const generation of [1, 2]) {
      await edge.publish(hostname, await start(generation), { signing });
      expect((await edge.https({ hostname })).status).toBe(200);
    }
    await edge.publish(hostname, await start(3), { signing });
    expect((await edge.https({ hostname })).status).toBe(403);
  });
});
