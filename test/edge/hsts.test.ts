/** Strict-Transport-Security of a name at the edge: of every answer over HTTPS, and of none without it. */
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

/** A deploy that says something of its own. */
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
  it('says it with the answers of its deploy, in the place of what that says', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    const { headers, body } = await edge.https({ hostname });
    expect(headers['strict-transport-security']).toBe(hsts);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(body).toBe('hello');
    expect(await fieldOf({ method: 'HEAD' })).toEqual([200, hsts]);
  });

  it('says it where a WebSocket opens', async () => {
    const deploy = await startWebSocketDeploy(() => {});
    closings.push(deploy.close);
    await edge.publish(hostname, deploy.url, { hsts });
    const [answer, socket] = await once(webSocketRequest(edge, hostname).request.end(), 'upgrade');
    expect(answer.headers['strict-transport-security']).toBe(hsts);
    socket.destroy();
  });

  it('says it with a redirect', async () => {
    const redirect = { to: 'www.acme.test', status: 301 };
    await edge.publish(hostname, null, { hsts, redirect });
    expect(await fieldOf()).toEqual([301, hsts]);
  });

  it('says it with our own pages', async () => {
    await edge.publish(hostname, null, { hsts });
    expect(await fieldOf()).toEqual([503, hsts]);
    await edge.publish(hostname, 'http://127.0.0.1:1', { hsts });
    expect(await fieldOf()).toEqual([502, hsts]);
  });

  it('says nothing over HTTP, where nobody must believe it', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    const { status, headers } = await edge.http({ hostname });
    expect(status).toBe(308);
    expect(headers).not.toHaveProperty('strict-transport-security');
  });

  it('says nothing for another name that is asked for on its connection', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    await edge.publish('other.acme.test', null);
    const visit = { hostname: 'other.acme.test', servername: hostname };
    expect(await fieldOf(visit)).toEqual([421, undefined]);
  });
});

describe('A name without HSTS', () => {
  it('passes on what its deploy says, and says nothing itself', async () => {
    await edge.publish(hostname, await startOwn());
    expect(await fieldOf()).toEqual([200, 'max-age=1']);
    await edge.publish(hostname, null);
    expect(await fieldOf()).toEqual([503, undefined]);
  });

  it('that has had it says nothing more from the next request on', async () => {
    await edge.publish(hostname, await startOwn(), { hsts });
    expect(await fieldOf()).toEqual([200, hsts]);
    await edge.publish(hostname, null);
    expect(await fieldOf()).toEqual([503, undefined]);
  });
});
