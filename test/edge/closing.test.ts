import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';
import { openWebSocket, startWebSocketDeploy } from './support/websocket.ts';

const hostname = 'docs.acme.test';
const closings = closeAfterEach();
let edge: EdgeFixture;

beforeEach(async () => {
  edge = await startEdgeFixture();
  closings.push(edge.close);
});

async function publish(listener: Parameters<typeof startDeploy>[0]): Promise<void> {
  const deploy = await startDeploy(listener);
  closings.push(deploy.close);
  await edge.publish(hostname, deploy.url);
}

describe('An edge that closes', () => {
  it('finishes a running request and accepts no other', async () => {
    let finish = () => {};
    await publish((_request, response) => {
      response.write('first ');
      finish = () => response.end('last');
    });
    const [response] = await once(edge.openHttps({ hostname }).end(), 'response');
    const closed = edge.edge.close(10_000);
    await expect(edge.https({ hostname })).rejects.toThrow(/ECONNREFUSED/);
    finish();
    expect(await text(response)).toBe('first last');
    await closed;
  });

  it('cuts off a request at its deadline', async () => {
    await publish((_request, response) => {
      response.write('first');
    });
    const [response] = await once(edge.openHttps({ hostname }).end(), 'response');
    const idle = connectTls({
      port: edge.ports.httpsPort,
      host: '127.0.0.1',
      ca: edge.root,
      servername: hostname,
    });
    idle.on('error', () => {});
    await once(idle, 'secureConnect');
    const cut = text(response);
    await Promise.all([expect(cut).rejects.toThrow(), edge.edge.close(50)]);
  });

  it('cuts off a WebSocket at its deadline', async () => {
    const deploy = await startWebSocketDeploy(() => {});
    closings.push(deploy.close);
    await edge.publish(hostname, deploy.url);
    const { socket } = await openWebSocket(edge, hostname);
    const cut = once(socket.resume(), 'close');
    await Promise.all([cut, edge.edge.close(50)]);
  });
});
