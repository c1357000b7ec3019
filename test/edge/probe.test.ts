/** Whether a challenge would arrive, checked over real sockets. */
import { once } from 'node:events';
import { createServer, type RequestListener, request, type Server } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProbeRules, probeAddresses } from '../../src/certificates/reach/challenge-path.ts';
import { answeringProbes, createProbes } from '../../src/certificates/served/probe.ts';
import { showsProof } from '../../src/certificates/served/proof-certificate.ts';
import { reservedRange } from '../../src/core/names/reserved-addresses.ts';
import { createEdge, type Edge } from '../../src/edge/edge.ts';
import { closeAfterEach } from '../support/closings.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { defaultConfig, plainService } from '../support/plain-service.ts';
import { anybody, bare, everywhere, signingKey, unlimited } from './support/fixture.ts';

const hostname = 'docs.shop.test';
const key = new Uint8Array(32).fill(7);
const probes = createProbes(key);
const closings = closeAfterEach();
const log = { debug() {}, warn() {}, error() {} };

let edge: Edge;
let port: number;
let tlsPort: number;
/** The tokens and names queried in the database. */
const challenges: string[] = [];

beforeAll(async () => {
  const lookups = answeringProbes(
    {
      async findChallenge(token: string) {
        challenges.push(token);
        return token === 'real' ? 'real.thumbprint' : null;
      },
      async findTlsChallenge(name: string) {
        challenges.push(name);
        return name === hostname ? 'real.thumbprint' : null;
      },
      findRoute: async (name: string) =>
        name === hostname ? { ...bare, hostname, upstream: null } : null,
    },
    // A different process with the same key.
    createProbes(key),
  );
  const service = plainService({
    config: { ...defaultConfig, acme: { ...defaultConfig.acme, challenge: 'tls-alpn-01' } },
    database: { openPool: () => ({}) as never },
    lookups,
    log,
    now: () => new Date(),
    ownAddresses: async () => [],
    ownListeners: async () => [],
    secrets: { tickets: new Uint8Array(32) },
    signingKey,
  });
  edge = createEdge(service, { reach: everywhere, visitors: anybody, requests: unlimited });
  const ports = await edge.listen({ host: '127.0.0.1', httpPort: 0, httpsPort: 0 });
  ({ httpPort: port, httpsPort: tlsPort } = ports);
});
afterAll(() => edge.close(0));

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closings.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

const answering = (answer: RequestListener) => listening(createServer(answer));

function ask(addresses: readonly string[], atPort = port, allowPrivate = true, name = hostname) {
  return probeAddresses(rulesFor('http-01', atPort, { allowPrivate }), name, addresses);
}

function rulesFor(
  challenge: ProbeRules['challenge'],
  atPort: number,
  { asking = probes, allowPrivate = true } = {},
): ProbeRules {
  return {
    probes: asking,
    challenge,
    ports: { http: atPort, https: atPort },
    lookupAddresses: async () => [at],
    isAllowed: (address) => allowPrivate || reservedRange(address) === null,
  };
}

const at = '127.0.0.1';

/** A server that is closed after the test. */
async function listeningOn(server: TcpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, at, resolve));
  closings.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

describe('An address of a customer’s name (http-01)', () => {
  it('is reachable when any edge of this installation answers', async () => {
    expect(await ask([at])).toEqual([{ address: at, outcome: 'reachable' }]);
    expect(challenges).toEqual([]);
  });

  it('is reachable even if no project holds the name yet', async () => {
    expect(await ask([at], port, true, 'foreign.test')).toEqual([
      { address: at, outcome: 'reachable' },
    ]);
    expect(challenges).toEqual([]);
  });

  it('is not reachable when an installation with another key answers', async () => {
    const others = rulesFor('http-01', port, { asking: createProbes(new Uint8Array(32)) });
    expect(await probeAddresses(others, hostname, [at])).toMatchObject([
      { outcome: 'other_answer', status: 404 },
    ]);
  });

  it('is checked separately from other addresses', async () => {
    // The second address has no listener.
    expect(await ask([at, '127.0.0.2', at])).toEqual([
      { address: at, outcome: 'reachable' },
      { address: '127.0.0.2', outcome: 'refused' },
    ]);
  });

  it('is reported as refused when IPv6 has no listener or no route', async () => {
    const [probe] = await ask(['::1']);
    expect(['refused', 'no_route']).toContain(probe?.outcome);
  });

  it('is not probed in a private network, except in a test lab', async () => {
    expect(await ask([at, '10.0.0.1', '192.0.2.1', 'fd00::1'], port, false)).toEqual(
      [at, '10.0.0.1', '192.0.2.1', 'fd00::1'].map((address) => ({ address, outcome: 'reserved' })),
    );
  });
});

describe('Another server in place of the edge', () => {
  const strangers: readonly (readonly [string, RequestListener, number])[] = [
    ['another site', (_, response) => response.end('welcome'), 200],
    ['a site without this path', (_, response) => response.writeHead(404).end(), 404],
    [
      'a redirect, which is not followed',
      (request, response) =>
        response.writeHead(301, { location: `http://${at}:${port}${request.url}` }).end(),
      301,
    ],
    ['an endless body', (_, response) => response.end('x'.repeat(1_000_000)), 200],
  ];
  it.each(strangers)('is reported: %s', async (_what, answer, status) => {
    expect(await ask([at], await answering(answer))).toEqual([
      { address: at, outcome: 'other_answer', status },
    ]);
  });

  it('is reported: a connection that breaks', async () => {
    const cutting = createTcpServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => cutting.listen(0, at, resolve));
    closings.push(() => new Promise((resolve) => cutting.close(resolve)));
    const { port: there } = cutting.address() as AddressInfo;
    expect(await ask([at], there)).toEqual([{ address: at, outcome: 'refused' }]);
  });

  it('is reported: no response', async () => {
    const silent = await answering(() => {});
    expect(await ask([at], silent)).toEqual([{ address: at, outcome: 'timeout' }]);
  });

  it('is reported: an endless slow response', async () => {
    const dripping = await answering((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(timer));
    });
    expect(await ask([at], dripping)).toEqual([{ address: at, outcome: 'timeout' }]);
  });
});

describe('An address of a customer’s name (tls-alpn-01)', () => {
  const method = 'tls-alpn-01';
  const shake = (atPort: number, addresses = [at], name = hostname, asking = probes) =>
    probeAddresses(rulesFor(method, atPort, { asking }), name, addresses);
  const answered = [{ address: at, method, outcome: 'other_answer', status: null }];

  it('is reachable when an edge of this installation answers, even during a CA challenge', async () => {
    expect(await shake(tlsPort)).toEqual([{ address: at, method, outcome: 'reachable' }]);
  });

  it('is reachable even if no project holds the name yet', async () => {
    expect(await shake(tlsPort, [at], 'foreign.test')).toMatchObject([{ outcome: 'reachable' }]);
  });

  it('is not reachable when an installation with another key answers', async () => {
    expect(await shake(tlsPort, [at], hostname, createProbes(new Uint8Array(32)))).toEqual(
      answered,
    );
  });

  it('is not reachable when another server answers', async () => {
    expect(await shake(port)).toEqual(answered); // not TLS
    const { chain, key: localKey } = await localhostCertificate();
    const other = createTlsServer({ cert: chain, key: localKey, ALPNProtocols: ['acme-tls/1'] });
    expect(await shake(await listeningOn(other))).toEqual(answered);
  });

  it('is checked separately from other addresses, with its own reason', async () => {
    const cutting = createTcpServer((socket) => socket.destroy());
    const silent = createTcpServer(() => {});
    expect(await shake(await listeningOn(cutting))).toMatchObject([{ outcome: 'refused' }]);
    expect(await shake(tlsPort, [at, '127.0.0.2'])).toMatchObject([
      { outcome: 'reachable' },
      { outcome: 'refused' },
    ]);
    expect(await shake(await listeningOn(silent))).toMatchObject([{ outcome: 'timeout' }]);
  });
});

describe('A probe token', () => {
  it('is new for each probe and fits a challenge’s path', () => {
    const tokens = [probes.newToken(hostname), probes.newToken(hostname)];
    expect(new Set(tokens).size).toBe(2);
    for (const token of tokens) expect(token).toMatch(/^[\w-]{16,128}$/);
  });

  it.each([
    ['of another name', () => probes.newToken('shop.acme.test')],
    ['of another installation', () => createProbes(new Uint8Array(32)).newToken(hostname)],
    ['with another suffix', () => `${probes.newToken(hostname).slice(0, -1)}_`],
    ['with trailing characters', () => `${probes.newToken(hostname)}A`],
    ['cut short', () => probes.newToken(hostname).slice(0, -1)],
    ['with a random value', () => `signpost-probe-${'A'.repeat(44)}`],
    ['in an outdated format', () => `signpost-probe-${'A'.repeat(22)}`],
    ['with the prefix only', () => 'signpost-probe-'],
  ])('%s is answered by no edge and queries no database', async (_what, make) => {
    challenges.length = 0;
    // The last of 22 characters carries two significant bits, so another letter can mean the same.
    const token = make();
    expect(probes.answerTo(token, hostname)).toBeNull();
    const visit = { host: at, port, headers: { host: hostname }, agent: false };
    const asked = request({ ...visit, path: `/.well-known/acme-challenge/${token}` }).end();
    const [response] = await once(asked, 'response');
    expect(response.resume().statusCode).toBe(404);
    const question = { address: at, port: tlsPort, hostname, token, answer: '', timeoutMs: 5_000 };
    expect(await showsProof(question)).toBe(false);
    expect(challenges).toEqual([]);
  });

  it('is not looked up among the challenges of an unknown name', async () => {
    challenges.length = 0;
    const response = await fetch(`http://localhost:${port}/.well-known/acme-challenge/real`);
    expect(response.status).toBe(404);
    const socket = connect({
      host: at,
      port: tlsPort,
      servername: 'foreign.test',
      ALPNProtocols: ['acme-tls/1'],
    });
    await expect(once(socket, 'secureConnect')).rejects.toThrow(/alert/i);
    expect(challenges).toEqual([]);
  });

  it('of the CA still reaches the challenges', async () => {
    const visit = { host: at, port, headers: { host: hostname }, agent: false };
    const asked = request({ ...visit, path: '/.well-known/acme-challenge/real' }).end();
    const [response] = await once(asked, 'response');
    expect(await text(response)).toBe('real.thumbprint');
    expect(probes.answerTo('real', hostname)).toBeNull();
  });

  it('has a different answer for each name', () => {
    const answers = ['a.test', 'b.test'].map((name) =>
      probes.answerTo(probes.newToken(name), name),
    );
    expect(new Set([...answers, null]).size).toBe(3);
  });
});
