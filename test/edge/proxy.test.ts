import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

type Deploy = Awaited<ReturnType<typeof startDeploy>>;

const hostname = 'docs.acme.test';
const MEGABYTE = 1_048_576;
let edge: EdgeFixture;
const deploys: Deploy[] = [];

beforeEach(async () => {
  edge = await startEdgeFixture();
});
afterEach(async () => {
  await edge.close();
  await Promise.all(deploys.splice(0).map((deploy) => deploy.close()));
});

/** For tests about limits only: everything takes longer on a busy machine. */
async function startAgain(limits: Parameters<typeof startEdgeFixture>[0]): Promise<void> {
  await edge.close();
  edge = await startEdgeFixture(limits);
}

async function publishDeploy(listener: Parameters<typeof startDeploy>[0], path = '') {
  const deploy = await startDeploy(listener);
  deploys.push(deploy);
  await edge.publish(hostname, deploy.url + path);
  return deploy;
}

/** A deploy that echoes the request. */
const echo: Parameters<typeof startDeploy>[0] = async (request, response) => {
  const { method, url, headers } = request;
  const body = await text(request);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ method, url, headers, body }));
};

describe('A request to a published domain', () => {
  it('reaches the deploy with method, path, query and body', async () => {
    await publishDeploy(echo);
    const visit = { hostname, method: 'POST', path: '/a%20b?c=%2F' };
    const reply = await edge.https(visit, 'hello');
    expect(reply.headers['content-type']).toBe('application/json');
    expect(JSON.parse(reply.body)).toMatchObject({
      method: 'POST',
      url: '/a%20b?c=%2F',
      body: 'hello',
    });
  });

  it('reaches the deploy on the challenge path, unless a CA asks there', async () => {
    await publishDeploy(echo);
    edge.challenges.set(`${hostname}/of-a-ca`, 'of-a-ca.thumbprint');
    const get = (token: string) =>
      edge.https({ hostname, path: `/.well-known/acme-challenge/${token}` });
    expect((await get('of-a-ca')).body).toBe('of-a-ca.thumbprint');
    const own = { url: '/.well-known/acme-challenge/of-the-deploy' };
    expect(JSON.parse((await get('of-the-deploy')).body)).toMatchObject(own);
    edge.database.isUp = false;
    expect(JSON.parse((await get('of-the-deploy')).body)).toMatchObject(own);
  });

  it('is forwarded below the path of the upstream', async () => {
    await publishDeploy(echo, '/site/');
    const { body } = await edge.https({ hostname, path: '/page?x=1' });
    expect(JSON.parse(body).url).toBe('/site/page?x=1');
  });

  it('carries the visitor’s real address and protocol, not claimed ones', async () => {
    await publishDeploy(echo);
    const { body } = await edge.https({
      hostname,
      headers: {
        host: hostname,
        'x-forwarded-for': '203.0.113.9',
        'x-forwarded-proto': 'http',
        'x-real-ip': '203.0.113.9',
        forwarded: 'for=203.0.113.9',
        'x-kept': 'yes',
      },
    });
    const { headers } = JSON.parse(body);
    expect(headers).toMatchObject({
      host: hostname,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': hostname,
      'x-forwarded-proto': 'https',
      'x-kept': 'yes',
      via: '1.1 signpost',
    });
    expect(headers).not.toHaveProperty('x-real-ip');
    expect(headers).not.toHaveProperty('forwarded');
  });

  it('loses its hop-by-hop fields, including those that it names', async () => {
    await publishDeploy(echo);
    const { body } = await edge.https({
      hostname,
      headers: {
        connection: 'keep-alive, X-Only-Here, Content-Length, X-Forwarded-For',
        'x-only-here': '1',
        'keep-alive': 'timeout=5',
        'proxy-authorization': 'Basic eA==',
        te: 'trailers',
        upgrade: 'h2c',
      },
    });
    const { headers } = JSON.parse(body);
    for (const name of ['x-only-here', 'keep-alive', 'proxy-authorization', 'te', 'upgrade']) {
      expect(headers).not.toHaveProperty(name);
    }
    expect(headers['x-forwarded-for']).toBe('127.0.0.1');
  });

  it('keeps its body intact for every method and framing', async () => {
    await publishDeploy(echo);
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'PUT']) {
      const chunked = { hostname, method, headers: { 'transfer-encoding': 'chunked' } };
      expect(JSON.parse((await edge.https(chunked, 'GET /x HTTP/1.1')).body).body).toBe(
        'GET /x HTTP/1.1',
      );
      const counted = { hostname, method, headers: { 'content-length': 5 } };
      expect(JSON.parse((await edge.https(counted, 'hello')).body).body).toBe('hello');
    }
  });
});

describe('A deploy response', () => {
  it('keeps its status and fields, without hop-by-hop ones', async () => {
    await publishDeploy((_request, response) => {
      response.writeHead(418, {
        'Set-Cookie': ['a=1', 'b=2'],
        Connection: 'X-Secret',
        'X-Secret': '1',
        'Proxy-Authenticate': 'Basic',
      });
      response.end('short and stout');
    });
    const { status, headers, body } = await edge.https({ hostname });
    expect([status, body]).toEqual([418, 'short and stout']);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(headers).not.toHaveProperty('x-secret');
    expect(headers).not.toHaveProperty('proxy-authenticate');
    expect(headers).not.toHaveProperty('strict-transport-security');
  });

  it('is streamed: its first part arrives before the last is written', async () => {
    let finish = () => {};
    await publishDeploy((_request, response) => {
      response.write('first');
      finish = () => response.end('last');
    });
    const [response] = await once(edge.openHttps({ hostname }).end(), 'response');
    const [first] = await once(response, 'data');
    expect(String(first)).toBe('first');
    finish();
    expect(await text(response)).toBe('last');
  });

  it('can be large, like a request: 64 MiB pass both ways unchanged', async () => {
    const sum = createHash('sha256');
    await publishDeploy((request, response) => {
      void pipeline(request, response);
    });
    const block = Buffer.alloc(MEGABYTE, 'signpost');
    const request = edge.openHttps({ hostname, method: 'POST' });
    const sent = createHash('sha256');
    const blocks = function* () {
      for (let count = 0; count < 64; count++) {
        sent.update(block);
        yield block;
      }
    };
    const answered = once(request, 'response');
    const uploaded = pipeline(Readable.from(blocks()), request);
    const [response] = await answered;
    await pipeline(response, sum);
    await uploaded;
    expect(sum.digest('hex')).toBe(sent.digest('hex'));
  });

  it('that breaks off breaks off for the visitor too', async () => {
    await publishDeploy((_request, response) => {
      response.write('half', () => response.destroy());
    });
    const [response] = await once(edge.openHttps({ hostname }).end(), 'response');
    await expect(text(response)).rejects.toThrow();
  });

  it('that is not HTTP becomes a 502', async () => {
    const deploy = await publishDeploy(() => {});
    deploy.server.on('connection', (socket) => socket.end('HTTP/1.1 099 Odd\r\n\r\n'));
    expect((await edge.https({ hostname })).status).toBe(502);
  });
});

describe('A deploy in trouble', () => {
  it('that is down causes a 502 page', async () => {
    const deploy = await startDeploy(echo);
    await edge.publish(hostname, deploy.url);
    await deploy.close();
    const { status, body } = await edge.https({ hostname });
    expect(status).toBe(502);
    expect(body).toContain(`The server behind ${hostname} could not be reached.`);
  });

  it('that does not respond causes a 504 page', async () => {
    await startAgain({ firstByteMs: 300 });
    await publishDeploy(() => {});
    expect((await edge.https({ hostname })).status).toBe(504);
  });

  it('that stalls within its response ends the response', async () => {
    await startAgain({ silenceMs: 600 });
    await publishDeploy((_request, response) => {
      response.write('half');
    });
    const [response] = await once(edge.openHttps({ hostname }).end(), 'response');
    await expect(text(response)).rejects.toThrow();
  });

  it('that is missing causes a 503 page', async () => {
    await edge.publish(hostname, null);
    expect((await edge.https({ hostname })).status).toBe(503);
  });

  it('that points back to the edge causes a 508 page', async () => {
    await publishDeploy(echo);
    const headers = { via: '1.1 cache, 1.1 signpost' };
    expect((await edge.https({ hostname, headers })).status).toBe(508);
  });

  it('that closed an idle connection gets the request again on a new one', async () => {
    const deploy = await publishDeploy((_request, response) => response.end('hello'));
    expect((await edge.https({ hostname })).status).toBe(200);
    // The next use of the idle connection finds it closed without prior notice.
    deploy.server.prependOnceListener('request', (request: IncomingMessage) => {
      request.socket.destroy();
    });
    expect((await edge.https({ hostname })).status).toBe(200);
  });

  it('notices when the visitor leaves', async () => {
    let gone: Promise<unknown> = Promise.reject(new Error('never asked'));
    gone.catch(() => {});
    const asked = new Promise<void>((resolve) => {
      void publishDeploy((_request, response) => {
        gone = once(response, 'close');
        resolve();
      }).then(() => {
        const request = edge.openHttps({ hostname }).on('error', () => {});
        request.end();
        void asked.then(() => request.destroy());
      });
    });
    await asked;
    await gone;
  });

  it('gets no retry for a visitor who has left', async () => {
    const urls: unknown[] = [];
    const deploy = await publishDeploy(({ url }, response) => {
      urls.push(url);
      if (url !== '/held') response.end();
    });
    await edge.https({ hostname, path: '/first' }); // leaves an idle connection to the deploy
    const arrived = once(deploy.server, 'request');
    const request = edge.openHttps({ hostname, path: '/held' }).on('error', () => {});
    request.end();
    const [, held] = await arrived;
    request.destroy();
    await once(held, 'close');
    await edge.https({ hostname, path: '/last' });
    expect(urls).toEqual(['/first', '/held', '/last']);
  });
});
