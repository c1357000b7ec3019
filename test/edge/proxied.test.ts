/** A name behind its provider's proxy: real name servers, a real proxy and a real edge. */
import { createServer, type RequestListener, request as sendRequest } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reachAddresses } from '../../src/certificates/reach/challenge-path.ts';
import { observingProxies } from '../../src/certificates/reach/observe-proxied.ts';
import { createProbes } from '../../src/certificates/served/probe.ts';
import type { AddressReach } from '../../src/core/certificates/reach.ts';
import type { Observer } from '../../src/dns/observe/observe.ts';
import { closeInternet, diagnosed, openInternet, TARGET } from '../dns/findings/internet.ts';
import { comparedWith } from '../dns/test-lab.ts';
import { closeAfterEach } from '../support/closings.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { type EdgeFixture, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.shop.test';
const check = { hostname, target: TARGET, apex: false };
const probes = createProbes(new Uint8Array(32).fill(7));
const closings = closeAfterEach();
afterEach(closeInternet);

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdgeFixture({}, { answerProbe: probes.answerTo });
});
afterAll(() => edge.close());

async function listening(answer: RequestListener, tls?: TlsOptions): Promise<number> {
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closings.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port; // it listens on TCP, so it has one
}

/** No server listens there. */
const CLOSED = 1;

/** Passes requests on to our edge, like a CDN. */
const passOn: RequestListener = ({ method, url, headers }, response) => {
  const port = edge.ports.httpPort;
  const asking = sendRequest({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { ...answer.headers, 'cf-ray': '8f-FRA' });
    answer.pipe(response);
  });
  asking.on('error', () => response.writeHead(502).end()).end();
};

/** An observer whose proxy is at this address; `switchTo` changes what it does. */
async function behindProxy(
  first: RequestListener,
  records = ['docs A 104.16.1.1'],
  https = CLOSED,
) {
  let answer = first;
  const proxy = await listening((...visit) => answer(...visit));
  const internet = await openInternet({
    zones: { 'shop.test': { 'ada.ns.cloudflare.com': records } },
  });
  const asked: string[] = [];
  const rules = {
    probes,
    challenge: 'http-01',
    ports: { http: proxy, https },
    lookupAddresses: async () => ['127.0.0.1'],
    isAllowed: () => true,
    signal: AbortSignal.timeout(20_000),
  } as const;
  const observer: Observer = observingProxies(internet.observer, (name, addresses) => {
    asked.push(...addresses);
    return reachAddresses(rules, name, ['127.0.0.1'], ['http']);
  });
  return {
    observer,
    asked,
    switchTo: (next: RequestListener) => {
      answer = next;
    },
  };
}

const verdictOf = (seen: Parameters<typeof diagnosed>[0]) => {
  const { verdict, codes } = diagnosed(seen);
  return [verdict, ...codes];
};

describe('A name behind its provider’s proxy', () => {
  const reached = (address: string, outcome: AddressReach['outcome']): AddressReach => ({
    address,
    port: 80,
    scheme: 'http',
    outcome,
    redirect: null,
    answers: [],
    lastUrl: null,
  });

  it.each([
    ['this machine has no IPv6', ['edge', 'no_route'], 'right'],
    ['this machine has no route at all', ['no_route', 'no_route'], 'unknown'],
  ] as const)(
    'is decided by the addresses that could be queried: %s',
    async (_what, ends, verdict) => {
      const records = ['docs A 104.16.1.1', 'docs AAAA 2606:4700::1'];
      const internet = await openInternet({
        zones: { 'shop.test': { 'ada.ns.cloudflare.com': records } },
      });
      const observer = observingProxies(internet.observer, async (_name, addresses) =>
        ends.map((outcome, at) => reached(addresses[at] ?? '', outcome)),
      );
      expect(verdictOf(await observer.observe(check))).toEqual([verdict, 'proxied']);
    },
  );

  it('is unknown if this machine cannot recognize our edge', async () => {
    const zones = { 'shop.test': { 'ada.ns.cloudflare.com': ['docs A 104.16.1.1'] } };
    const internet = await openInternet({ zones });
    const observation = await observingProxies(internet.observer, null).observe(check);
    expect(observation.proxy).toEqual([{ address: '104.16.1.1', result: 'unseen', status: null }]);
    expect(verdictOf(observation)).toEqual(['unknown', 'proxied']);
  });

  it('is right if the proxy redirects to HTTPS and passes the challenge on from there', async () => {
    const { chain, key } = await localhostCertificate();
    const https = await listening(passOn, { cert: chain, key });
    const { observer } = await behindProxy(
      ({ url }, response) =>
        response.writeHead(301, { location: `https://${hostname}:${https}${url}` }).end(),
      ['docs A 104.16.1.1'],
      https,
    );
    const observation = await observer.observe(check);
    expect(verdictOf(observation)).toEqual(['right', 'proxied']);
  });

  it('is decided in the same way if only resolvers can be queried', async () => {
    const zones = { 'shop.test': { 'ada.ns.cloudflare.com': ['docs A 104.16.1.1'] } };
    const internet = await openInternet({ zones, authoritative: false });
    const through = (outcome: AddressReach['outcome']) =>
      observingProxies(internet.observer, async ([...name]) => [reached(name.join(''), outcome)]);
    expect(verdictOf(await through('edge').observe(check))).toEqual(['right', 'proxied']);
    expect(verdictOf(await through('timeout').observe(check))).toEqual(['unknown', 'proxied']);
  });

  it('is right if the proxy passes a challenge on to our edge', async () => {
    const { observer, asked } = await behindProxy(passOn);
    const observation = await observer.observe(check);
    expect(observation.proxy).toEqual([{ address: '127.0.0.1', result: 'edge', status: 200 }]);
    expect(verdictOf(observation)).toEqual(['right', 'proxied']);
    expect(asked).toEqual(['104.16.1.1']);
  });

  it('is wrong while the proxy stops challenges, and right as soon as it does not', async () => {
    const { observer, switchTo } = await behindProxy((_, response) =>
      response.writeHead(403).end('blocked'),
    );
    const before = await observer.observe(check);
    expect(verdictOf(before)).toEqual(['wrong', 'proxied']);
    expect(await observer.observeAgain(check, comparedWith(before))).toMatchObject({
      kind: 'unchanged',
    });
    // The DNS stays the same.
    switchTo(passOn);
    const { kind, observation } = await observer.observeAgain(check, comparedWith(before));
    expect([kind, ...verdictOf(observation)]).toEqual(['observed', 'right', 'proxied']);
    switchTo((_, response) => response.writeHead(522).end());
    const again = await observer.observeAgain(check, comparedWith(observation));
    expect([again.kind, ...verdictOf(again.observation)]).toEqual([
      'observed',
      'unknown',
      'proxied',
    ]);
  });

  it('is not queried if the name shows anything but the proxy', async () => {
    const { observer, asked } = await behindProxy(passOn, [
      'docs A 104.16.1.1',
      'docs A 127.0.0.9',
    ]);
    expect(verdictOf(await observer.observe(check))).toEqual(['wrong', 'conflicting_a']);
    expect(asked).toEqual([]);
  });

  it('needs CAA records in its zone that allow the CA, whatever those of the target are', async () => {
    const forbids = ['docs A 104.16.1.1', '@ CAA 0 issue "ca.example"'];
    const { observer } = await behindProxy(passOn, forbids);
    const { caa, ...observation } = await observer.observe(check);
    expect(caa?.map(({ name }) => name)).toEqual([hostname, 'shop.test']);
    expect(verdictOf({ ...observation, caa })).toEqual(['wrong', 'caa_blocks', 'proxied']);
  });
});
