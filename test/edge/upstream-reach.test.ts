/** A tenant chooses the deploy URL, so the edge must block internal addresses. */
import { afterEach, describe, expect, it } from 'vitest';
import { createTargets } from '../../src/certificates/vault/derived-secrets.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type UpstreamReach, upstreamReach } from '../../src/edge/proxy/upstream.ts';
import { composeOwnAddresses } from '../../src/net/own-addresses.ts';
import { asked, closeAll, openTestLab } from '../dns/test-lab.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type EdgeFixture, replyTo, startDeploy, startEdgeFixture } from './support/fixture.ts';
import { webSocketRequest } from './support/websocket.ts';

const hostname = 'docs.acme.test';
const closings = closeAfterEach();
let edge: EdgeFixture;

const ours = '8.8.4.4';
const dns = { servers: [], authoritative: true, authorityPort: 53, allowPrivate: true };
const ownAddresses = async () => [ours, '2600:1234::1'];
const ownListeners = async () => [];
const reachOf = (...networks: string[]) =>
  upstreamReach({ config: { dns, upstreams: { networks } }, ownAddresses, ownListeners });
/** At a port that is not Signpost's. */
const PORT = 4_000;

/** The addresses of each name by number of look-ups; an unlisted name has none. */
function namesAt(names: Readonly<Record<string, readonly string[][]>>) {
  const asked: string[] = [];
  const lookup: UpstreamReach['lookup'] = async (name) => {
    const answers = names[name] ?? [];
    const addresses = answers[asked.filter((one) => one === name).length] ?? answers.at(-1) ?? [];
    asked.push(name);
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { lookup, asked };
}

async function start(reach: UpstreamReach): Promise<{ port: string; visits: () => number }> {
  edge = await startEdgeFixture({}, { reach });
  closings.push(edge.close);
  let visits = 0;
  const deploy = await startDeploy((_request, response) => {
    visits += 1;
    response.end('hello');
  });
  closings.push(deploy.close);
  return { port: new URL(deploy.url).port, visits: () => visits };
}

describe('The upstream address filter', () => {
  it.each([
    ['a public address', '8.8.8.8', true],
    ['a public IPv6 address', '2606:4700::1', true],
    ['the loopback address', '127.0.0.1', false],
    ['the loopback address in IPv6', '::1', false],
    ['the loopback address as an IPv4-mapped one', '::ffff:7f00:1', false],
    ['a private network', '10.20.0.5', false],
    ['another private network', 'fd00::5', false],
    ['cloud metadata', '169.254.169.254', false],
    ['cloud metadata in IPv6', 'fd00:ec2::254', false],
    ['a carrier-grade NAT address', '100.64.0.1', false],
    ['Azure’s virtual address', '168.63.129.16', false],
    ['an invalid address', '0.0.0.0', false],
    ['an address of the platform', ours, false],
    ['an IPv6 address of the platform', '2600:1234::1', false],
  ])('allows %s (%s): %s', async (_what, address, allowed) => {
    const classify = await reachOf().decide();
    expect(classify(address, PORT)).toBe(allowed ? 'allowed' : 'private');
  });

  it('includes exactly the operator’s own addresses', async () => {
    const classify = await reachOf('10.20.0.0/16', '127.0.0.1', 'fd12::/16').decide();
    const asked = [
      '10.20.0.5',
      '127.0.0.1',
      'fd12::5',
      '10.21.0.5',
      '127.0.0.2',
      '169.254.169.254',
    ];
    const isAllowed = asked.map((address) => classify(address, PORT) === 'allowed');
    expect(isAllowed).toEqual([true, true, true, false, false, false]);
  });
});

describe('A deploy at a blocked address', () => {
  it.each([
    '127.0.0.1',
    'localhost',
    'a.localhost',
    '2130706433',
    '0x7f.1',
    '127.1',
    '0.0.0.0',
    '[::1]',
    '[::ffff:127.0.0.1]',
  ])('at %s gets no request; the visitor sees a 502 page with the reason', async (host) => {
    const { port, visits } = await start({ ...reachOf(), lookup: namesAt({}).lookup });
    await edge.publish(hostname, `http://${host}:${port}`);
    const { status, body } = await edge.https({ hostname });
    expect(status).toBe(502);
    expect(body).toContain('The address of the server behind');
    expect((await replyTo(webSocketRequest(edge, hostname).request)).status).toBe(502);
    expect(visits()).toBe(0);
  });

  it.each([
    ['resolves to it', [['127.0.0.1']]],
    ['also resolves to it', [['8.8.8.8', '127.0.0.1']]],
    ['resolves to it in IPv6', [['::1']]],
  ])('gets no request by a name that %s', async (_how, answers) => {
    const { lookup } = namesAt({ 'deploy.test': answers });
    const { port, visits } = await start({ ...reachOf(), lookup });
    await edge.publish(hostname, `http://deploy.test:${port}`);
    const { status, body } = await edge.https({ hostname });
    expect([status, visits()]).toEqual([502, 0]);
    expect(body).toContain('The address of the server behind');
  });

  it('is logged for the operator with the variable that would allow it', async () => {
    const { port } = await start({ ...reachOf(), lookup: namesAt({}).lookup });
    await edge.publish(hostname, `http://127.0.0.1:${port}`);
    await edge.https({ hostname });
    expect(edge.warnings).toEqual([
      expect.objectContaining({
        domain: hostname,
        reason: expect.stringContaining('UPSTREAM_NETWORKS'),
      }),
    ]);
  });
});

describe('A deploy at the platform’s own public address', () => {
  /** As composed: neither the settings nor a network interface has the platform's address. */
  async function startBehindNat(env: Readonly<Record<string, string>> = {}) {
    const { dns: lab, observer } = await openTestLab({
      'edge.test': [`* A ${ours}`],
      'shop.test': [`deploy A ${ours}`],
    });
    const servers = `${lab.address}:${lab.port}`;
    const read = loadConfig({ PLATFORM_DOMAIN: 'edge.test', DNS_SERVERS: servers, ...env });
    if (!read.ok) throw new Error('the settings do not fit');
    const targetFor = createTargets(new Uint8Array(32), 'edge.test');
    const now = () => new Date();
    const { config } = read;
    const own = composeOwnAddresses({ config, observer, targetFor, now });
    await start(upstreamReach({ config, ownAddresses: own, ownListeners }));
    return lab;
  }
  const visit = async (upstream: string) => {
    await edge.publish(hostname, upstream);
    const { status, body } = await edge.https({ hostname });
    return [status, body.includes('The address of the server behind')];
  };
  afterEach(closeAll);

  it.each([
    ['by address', `http://${ours}:3000`],
    ['by name', 'http://deploy.shop.test:3000'],
  ])('is blocked %s, because a target resolves to it', async (_how, upstream) => {
    const lab = await startBehindNat();
    expect(await visit(upstream)).toEqual([502, true]);
    expect(await visit(upstream)).toEqual([502, true]);
    // Resolved once, not per visitor.
    const targets = asked(lab).filter((question) => question.includes('.edge.test A '));
    expect(targets).toHaveLength(1);
  });

  it('is blocked when the storage has that address, whatever a target says', async () => {
    const lab = await startBehindNat({
      PLATFORM_ADDRESSES: '8.8.8.8',
      DATABASE_URL: 'postgres://signpost@9.9.9.9/signpost',
      ACME_DIRECTORY_URL: 'local',
      REDIS_URL: 'redis://[2606:4700::1]:6379',
      KEY_ENCRYPTION_KEY: 'A'.repeat(43).concat('='),
    });
    expect(await visit('http://9.9.9.9:5432')).toEqual([502, true]);
    expect(await visit('http://[2606:4700::1]:6379')).toEqual([502, true]);
    expect(asked(lab)).toEqual([]);
  });
});

describe('The look-up of the platform’s own addresses', () => {
  it('delays the first visitors only; later look-ups run in the background', async () => {
    const lookups: ((addresses: readonly string[]) => void)[] = [];
    let now = 0;
    const { decide } = upstreamReach(
      {
        config: { dns, upstreams: { networks: [] } },
        ownAddresses: () => new Promise((resolve) => lookups.push(resolve)),
        ownListeners,
      },
      () => now,
    );
    const first = decide();
    lookups.shift()?.(['9.9.9.9']);
    expect((await first)('9.9.9.9', PORT)).toBe('private');
    expect((await decide())('9.9.9.9', PORT)).toBe('private');
    expect(lookups).toEqual([]); // valid for a second
    now = 1_000;
    expect((await decide())('9.9.9.9', PORT)).toBe('private');
    lookups.shift()?.(['9.9.9.10']);
    await new Promise((resolve) => setImmediate(resolve));
    now = 2_000;
    const classify = await decide();
    const kinds = ['9.9.9.9', '9.9.9.10'].map((address) => classify(address, PORT));
    expect(kinds).toEqual(['allowed', 'private']);
  });
});

describe('A deploy with a host name', () => {
  it('is reached at the checked address only', async () => {
    // DNS rebinding: the second answer would differ.
    const { lookup, asked } = namesAt({ 'deploy.test': [['127.0.0.1'], ['127.0.0.2']] });
    const { port } = await start({ ...reachOf('127.0.0.1'), lookup });
    await edge.publish(hostname, `http://deploy.test:${port}`);
    expect((await edge.https({ hostname })).body).toBe('hello');
    expect(asked).toEqual(['deploy.test']);
  });

  it('that has no address gets a 502 page', async () => {
    await start({ ...reachOf('127.0.0.1'), lookup: namesAt({}).lookup });
    await edge.publish(hostname, 'http://deploy.test');
    const { status, body } = await edge.https({ hostname });
    expect(status).toBe(502);
    expect(body).toContain('could not be reached');
  });
});
