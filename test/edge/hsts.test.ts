import { once } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';
import { startWebSocketDeploy, webSocketRequest } from './support/websocket.ts';

const hostname = 'docs.acme.test';
const hsts = 'max-age=300; includeSubDomains';
const closings = closeAfterEach();
let edge: EdgeFixture;

beforeEach(async () => {
  edge = await startEdgeFixture();
  closings.push(edge.close);
});

/** A deploy that sends its own Strict-Transport-Security. */
async function startOwn(): Promise<string> {
  const deploy = await startDeploy((_request, response) => {
    response.setHeader('Strict-Transport-Security', 'max-age=1');
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    response.end('hello');
  });
  closings.push(deploy.close);
  return deploy.url;
}
const fieldOf = async (visit: Partial<Parameters<EdgeFixture['https']>[0]> = {}) => {
  const { status, headers } = await edge.https({ hostname, ...visit });
  return [status, headers['strict-transport-security']];
};

describe('A name with HSTS', () => {
  it('sends it with deploy responses and replaces the deploy’s own header', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    const { headers, body } = await edge.https({ hostname });
    expect(headers['strict-transport-security']).toBe(hsts);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(body).toBe('hello');
    expect(await fieldOf({ method: 'HEAD' })).toEqual([200, hsts]);
  });

  it('sends it in a WebSocket handshake', async () => {
    const deploy = await startWebSocketDeploy(() => {});
    closings.push(deploy.close);
    await edge.publish(hostname, deploy.url, { hsts });
    const [answer, socket] = await once(webSocketRequest(edge, hostname).request.end(), 'upgrade');
    expect(answer.headers['strict-transport-security']).toBe(hsts);
    socket.destroy();
  });

  it('sends it with a redirect', async () => {
    const redirect = { to: 'www.acme.test', status: 301 };
    await edge.publish(hostname, null, { hsts, redirect });
    expect(await fieldOf()).toEqual([301, hsts]);
  });

  it('sends it with the edge’s own pages', async () => {
    await edge.publish(hostname, null, { hsts });
    expect(await fieldOf()).toEqual([503, hsts]);
    await edge.publish(hostname, 'http://127.0.0.1:1', { hsts });
    expect(await fieldOf()).toEqual([502, hsts]);
  });

  it('does not send it over HTTP, where browsers ignore it', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    const { status, headers } = await edge.http({ hostname });
    expect(status).toBe(308);
    expect(headers).not.toHaveProperty('strict-transport-security');
  });

  it('does not send it for another name on its connection', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    await edge.publish('other.acme.test', null);
    const visit = { hostname: 'other.acme.test', servername: hostname };
    expect(await fieldOf(visit)).toEqual([421, undefined]);
  });
});

describe('A name without HSTS', () => {
  it('forwards the deploy’s header and adds none', async () => {
    await edge.publish(hostname, await startOwn());
    expect(await fieldOf()).toEqual([200, 'max-age=1']);
    await edge.publish(hostname, null);
    expect(await fieldOf()).toEqual([503, undefined]);
  });

  it('stops sending it with the next request after HSTS ends', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    expect(await fieldOf()).toEqual([200, hsts]);
    await edge.publish(hostname, null);
    expect(await fieldOf()).toEqual([503, undefined]);
  });
});
