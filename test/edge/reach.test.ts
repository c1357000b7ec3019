/** What addresses answer for the challenge path, over real sockets. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { describe, expect, it } from 'vitest';
import { type ReachRules, reachAddresses } from '../../src/certificates/reach/challenge-path.ts';
import { reachRules } from '../../src/certificates/reach/examine-reach.ts';
import { createProbes } from '../../src/certificates/served/probe.ts';
import { closeAfterEach } from '../support/closings.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { defaultConfig } from '../support/plain-service.ts';

const closings = closeAfterEach();
const probes = createProbes(new Uint8Array(32).fill(7));
const at = '127.0.0.1';
const hostname = 'docs.shop.test';

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, at, resolve));
  closings.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port; // it listens on TCP, so it has one
}

const site = (answer: RequestListener) => listening(createServer(answer));
const tokenIn = (url = '') => url.slice(url.lastIndexOf('/') + 1);

/** Answers like an edge. */
const edge: RequestListener = ({ url, headers }, response) => {
  const name = String(headers.host).replace(/:\d+$/, '');
  const answer = probes.answerTo(tokenIn(url), name);
  response.writeHead(answer === null ? 404 : 200).end(answer ?? '');
};

/** No server listens there. */
const CLOSED = 1;

async function ask(http: number, more: Partial<ReachRules> = {}, https = CLOSED) {
  const rules: ReachRules = {
    probes,
    challenge: 'http-01',
    ports: { http, https },
    lookupAddresses: async () => [at],
    isAllowed: () => true,
    signal: AbortSignal.timeout(20_000),
    ...more,
  };
  const reached = await reachAddresses(rules, hostname, [at, at]);
  const [first] = reached;
  if (first === undefined) throw new Error('no address');
  return { first, reached };
}

describe('an address', () => {
  it('is our edge if it proves that, also after a redirect', async () => {
    const port = await site(edge);
    const { first, reached } = await ask(port);
    expect(first).toMatchObject({
      outcome: 'edge',
      answers: [{ status: 200, address: at }],
    });
    expect(first.answers[0]?.url).toBe(`http://${hostname}:${port}/.well-known/acme-challenge/`);
    expect(reached[1]).toMatchObject({
      scheme: 'https',
      port: CLOSED,
      outcome: 'refused',
    });
    const redirecting = await site(({ url }, response) => {
      const location = `http://${hostname}:${port}${url}`;
      response.writeHead(302, { location, 'cf-ray': '8f-FRA', server: 'cloudflare' }).end();
    });
    const { first: redirected } = await ask(redirecting, {
      ports: { http: redirecting, https: port },
    });
    expect(redirected).toMatchObject({
      outcome: 'edge',
      answers: [
        { status: 302, server: 'cloudflare', proxy: { name: 'Cloudflare', header: 'cf-ray' } },
        { status: 200, server: null, proxy: null },
      ],
    });
  });

  it('is another server with another answer, or if our edge cannot be recognized', async () => {
    const port = await site(edge);
    const stranger = createProbes(new Uint8Array(32));
    for (const asking of [stranger, null]) {
      const { first } = await ask(port, { probes: asking });
      expect(first).toMatchObject({ outcome: 'other_answer', answers: [{ status: 404 }] });
    }
  });

  it('is not queried if it is not allowed', async () => {
    let asked = 0;
    const port = await site((_, response) => {
      asked += 1;
      response.end();
    });
    const { reached } = await ask(port, { isAllowed: () => false });
    expect(reached.map(({ outcome }) => outcome)).toEqual(['reserved', 'reserved']);
    expect(asked).toBe(0);
  });

  it('is reported without a TLS handshake or without HTTP', async () => {
    const { chain, key } = await localhostCertificate();
    const tls = await listening(
      createTlsServer({ cert: chain, key }, (_, response) => response.writeHead(418).end()),
    );
    const garbage = await listening(createTcpServer((socket) => socket.end('SSH-2.0-x\r\n')));
    const { reached } = await ask(garbage, {}, tls);
    expect(reached).toMatchObject([
      { scheme: 'http', outcome: 'no_http' },
      { scheme: 'https', outcome: 'other_answer', answers: [{ status: 418 }] },
    ]);
    const { reached: plain } = await ask(garbage, {}, garbage);
    expect(plain[1]).toMatchObject({ outcome: 'no_tls' });
  });

  it('that is silent ends when the time for all is over', async () => {
    const silent = await listening(createTcpServer(() => {}));
    expect((await ask(silent, { signal: AbortSignal.timeout(300) })).first.outcome).toBe('timeout');
  });
});

describe('a redirect', () => {
  const to = (location: string) =>
    site((_, response) => response.writeHead(301, { location }).end());

  it('in a circle ends after ten, without a warning from Node.js', async () => {
    let asked = 0;
    const warnings: string[] = [];
    const note = ({ name }: Error) => void warnings.push(name);
    process.on('warning', note);
    const port = await site(({ url }, response) => {
      asked += 1;
      response.writeHead(308, { location: url }).end();
    });
    const { first } = await ask(port);
    process.off('warning', note);
    expect(first).toMatchObject({
      outcome: 'bad_redirect',
      redirect: { problem: 'too_many' },
    });
    expect(asked).toBe(11);
    expect(warnings).toEqual([]);
  });

  it('to a name in a private network is not followed', async () => {
    let asked = 0;
    const secret = await site((_, response) => {
      asked += 1;
      response.end('secret');
    });
    const port = await to(`http://inside.test:${secret}/latest/meta-data`);
    const { first } = await ask(port, {
      ports: { http: port, https: secret },
      lookupAddresses: async (name) => [name === hostname ? at : '127.0.0.2'],
      isAllowed: (address) => address === at,
    });
    expect(first).toMatchObject({
      outcome: 'bad_redirect',
      redirect: { problem: 'not_public' },
    });
    expect(asked).toBe(0);
  });

  it('to a port of Signpost is not followed, also in a test lab', async () => {
    let requests = 0;
    const api = await site((_, response) => {
      requests += 1;
      response.end('the API');
    });
    const port = await to(`http://${hostname}:${api}/v1/keys`);
    const { dns, acme } = defaultConfig;
    const { isAllowed } = reachRules({
      config: { acme, dns: { ...dns, allowPrivate: true } },
      lookupAddresses: async () => [at],
      probes,
      ownListeners: async () => [
        { addresses: ['::1'], ports: new Set([api]), edgePorts: new Set([port]) },
      ],
    });
    const { first } = await ask(port, { ports: { http: port, https: api }, isAllowed });
    expect(first).toMatchObject({ outcome: 'bad_redirect', redirect: { problem: 'not_public' } });
    expect(requests).toBe(0);
  });

  it('to a name without an address, or with a long text, is reported', async () => {
    const nowhere = await to('http://nowhere.test/');
    const lookupAddresses = async (name: string) => (name === hostname ? [at] : []);
    expect((await ask(nowhere, { lookupAddresses })).first.redirect).toMatchObject({
      problem: 'unresolved',
      to: 'http://nowhere.test/',
    });
    const port = await to(`ftp://x/${'a'.repeat(200)}`);
    const { first } = await ask(port);
    expect(first.redirect).toMatchObject({ problem: 'scheme' });
    expect(JSON.stringify(first).length).toBeLessThan(600);
  });
});
