import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { signLeaf, signRoot } from '../../src/certificates/authorities/sign.ts';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';
import { DAY } from '../../src/core/time.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type EdgeFixture, startEdgeFixture } from './support/fixture.ts';
import { webSocketRequest } from './support/websocket.ts';

const hostname = 'docs.acme.test';
const closings = closeAfterEach();
let edge: EdgeFixture;

beforeEach(async () => {
  edge = await startEdgeFixture();
  closings.push(edge.close);
});

const days = (from: number, to: number) => ({
  notBefore: new Date(Date.now() + from * DAY),
  notAfter: new Date(Date.now() + to * DAY),
});

/** A project's own CA. */
async function anAuthority() {
  const key = generatePrivateKey();
  const root = await signRoot({ ...days(-30, 30), commonName: 'A project’s own root', key });
  return {
    root,
    async sign(name: string, validity = days(-1, 1)) {
      const leafKey = generatePrivateKey();
      const content = { hostname: name, key: leafKey, ...validity };
      const cert = await signLeaf(content, { certificate: root, key });
      return { cert, key: privateKeyToPem(leafKey) };
    },
  };
}

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closings.push(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  return String(typeof address === 'object' && address !== null ? address.port : 0);
}

/** A deploy over https at `localhost` that counts its connections and requests. */
async function startTlsDeploy(tls: { readonly cert: string; readonly key: string }) {
  const seen = { connections: 0, requests: 0 };
  const server = createServer(tls, (_request, response) => {
    seen.requests += 1;
    response.end('hello');
  });
  server.on('secureConnection', () => {
    seen.connections += 1;
  });
  server.on('tlsClientError', () => {});
  return { url: `https://localhost:${await listening(server)}`, seen };
}

/** Publishes a domain whose deploy is verified by this CA; null: by the CAs that Node.js trusts. */
async function publish(url: string, ca: string | null, id = 'first', name = hostname) {
  if (ca !== null) edge.upstreamCas.set(id, ca);
  await edge.publish(name, url, { upstreamCaId: ca === null ? null : id, projectId: name });
}
const visit = (name = hostname) => edge.https({ hostname: name });
const reasons = () =>
  edge.warnings.map((line) => {
    const { domain: name, reason, msg } = line as Readonly<Record<string, unknown>>;
    return [name, reason, msg];
  });
const refusedFor = (why: string) => [
  hostname,
  expect.stringContaining(why),
  'the certificate of a deploy does not verify',
];

describe('A deploy over https', () => {
  it('is trusted through its own upstream CA', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    await publish(deploy.url, authority.root);
    expect(await visit()).toMatchObject({ status: 200, body: 'hello' });
    expect(edge.warnings).toEqual([]);
  });

  it('is trusted through any of several CAs or its own certificate', async () => {
    const [authority, other] = [await anAuthority(), await anAuthority()];
    const tls = await authority.sign('localhost');
    const deploy = await startTlsDeploy(tls);
    await publish(deploy.url, other.root + authority.root, 'bundle');
    expect((await visit()).status).toBe(200);
    await publish(deploy.url, tls.cert, 'itself');
    expect((await visit()).status).toBe(200);
  });

  it('is rejected when another CA signed it, and the log says why', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    await publish(deploy.url, (await anAuthority()).root);
    const { status, body } = await visit();
    expect(status).toBe(502);
    expect(body).toContain(`The certificate of the server behind ${hostname} is not valid.`);
    expect(reasons()).toEqual([refusedFor('unable to')]);
    expect(deploy.seen.requests).toBe(0);
  });

  it('is rejected when it has no upstream CA and no public CA signed it', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    await publish(deploy.url, null);
    expect((await visit()).status).toBe(502);
    expect(reasons()).toEqual([refusedFor('unable to')]);
  });

  it('is rejected once its certificate has expired', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost', days(-2, -1)));
    await publish(deploy.url, authority.root);
    expect((await visit()).status).toBe(502);
    expect(reasons()).toEqual([refusedFor('certificate has expired')]);
  });

  it('is rejected with a certificate for another name or an address URL', async () => {
    const authority = await anAuthority();
    const other = await startTlsDeploy(await authority.sign('other.test'));
    await publish(other.url, authority.root);
    expect((await visit()).status).toBe(502);
    const named = await startTlsDeploy(await authority.sign('localhost'));
    await publish(named.url.replace('localhost', '127.0.0.1'), authority.root);
    expect((await visit()).status).toBe(502);
    const why = "Hostname/IP does not match certificate's altnames";
    expect(reasons()).toEqual([refusedFor(why), refusedFor(why)]);
  });

  it('that opens a WebSocket is verified, too', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    await publish(deploy.url, (await anAuthority()).root);
    const [answer] = await once(webSocketRequest(edge, hostname).request.end(), 'response');
    expect(answer.statusCode).toBe(502);
  });

  it('that does not speak TLS is unreachable', async () => {
    const server = createHttpServer((_request, response) => response.end('hello'));
    server.on('clientError', (_error, socket) => socket.destroy());
    const port = await listening(server);
    await publish(`https://localhost:${port}`, (await anAuthority()).root);
    const { status, body } = await visit();
    expect(status).toBe(502);
    expect(body).toContain('could not be reached');
    await publish(`http://localhost:${port}`, null);
    expect((await visit()).status).toBe(200);
  });

  it('fails closed while its upstream CA cannot be loaded', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    await edge.publish(hostname, deploy.url, { upstreamCaId: 'not stored' });
    expect((await visit()).status).toBe(503);
    expect(deploy.seen.requests).toBe(0);
  });
});

describe('A connection to a deploy', () => {
  it('is reused while the same upstream CA applies', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    await publish(deploy.url, authority.root);
    for (let count = 0; count < 3; count += 1) expect((await visit()).status).toBe(200);
    expect(deploy.seen).toEqual({ connections: 1, requests: 3 });
  });

  it('is never reused under another upstream CA', async () => {
    const authority = await anAuthority();
    const deploy = await startTlsDeploy(await authority.sign('localhost'));
    const [other, plain] = ['other.acme.test', 'plain.acme.test'];
    await publish(deploy.url, authority.root);
    await publish(deploy.url, (await anAuthority()).root, 'second', other);
    await publish(deploy.url, null, 'none', plain);
    expect((await visit()).status).toBe(200);
    expect([(await visit(other)).status, (await visit(plain)).status]).toEqual([502, 502]);
    expect((await visit()).status).toBe(200);
    expect(deploy.seen.requests).toBe(2);
    // The next deploy of the same project brings another CA.
    await publish(deploy.url, (await anAuthority()).root, 'third');
    expect((await visit()).status).toBe(502);
  });
});
