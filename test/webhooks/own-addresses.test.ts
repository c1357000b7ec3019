/** Behind NAT only the DNS reveals that a receiver is the edge itself. */
import { pino } from 'pino';
import { afterEach, describe, expect, it, test } from 'vitest';
import { createTargets, deriveSecrets } from '../../src/certificates/vault/derived-secrets.ts';
import { loadConfig } from '../../src/config/config.ts';
import {
  composeOwnAddresses,
  composeOwnListeners,
  createIsListener,
  rememberAddresses,
} from '../../src/net/own-addresses.ts';
import { buildService, webhookSender } from '../../src/service/service.ts';
import { asked, closeAll, openTestLab } from '../dns/test-lab.ts';
import { later, noon } from '../support/builders.ts';
import { noBackend } from '../support/no-backend.ts';
import { testVault } from '../support/plain-service.ts';
import { openStoredDomains } from '../support/stored-domains.ts';

afterEach(closeAll);

const kek = new Uint8Array(32);
const edge = { four: '93.184.216.34', six: '2606:2800:220:1::1' } as const;
const refused = { kind: 'unanswered', problem: 'address_refused' };

async function world(env: Readonly<Record<string, string>> = {}) {
  const { dns, observer } = await openTestLab({
    'edge.test': [`* A ${edge.four}`, `* AAAA ${edge.six}`],
    'shop.test': [`hooks A ${edge.four}`],
  });
  const read = loadConfig({
    PLATFORM_DOMAIN: 'edge.test',
    DNS_SERVERS: `${dns.address}:${dns.port}`,
    ...env,
  });
  if (!read.ok) throw new Error('the settings do not fit');
  const { config } = read;
  const targetFor = createTargets(kek, 'edge.test');
  const ownAddresses = composeOwnAddresses({ config, observer, targetFor, now: () => noon });
  const send = webhookSender({ config, ownAddresses, ownListeners: async () => [] });
  return { dns, send: (url: string) => send({ url, headers: {}, body: '{}', timeoutMs: 10_000 }) };
}

describe('A receiver at the edge behind NAT', () => {
  it.each([
    ['by name', 'https://hooks.shop.test/'],
    ['by IPv4 address', `https://${edge.four}/`],
    ['by IPv6 address', `https://[${edge.six}]/`],
  ])('is not called %s, because a target resolves to it', async (_, url) => {
    const { send } = await world();
    expect(await send(url)).toEqual(refused);
  });

  it('is looked up once for any number of messages', async () => {
    const { send, dns } = await world();
    const url = `https://${edge.four}/`;
    expect(await Promise.all([send(url), send(url)])).toEqual([refused, refused]);
    expect(await send(url)).toEqual(refused);
    const types = asked(dns).map((question) => question.replace(/^\S+\.edge\.test /, ''));
    expect(types.sort()).toEqual(['A rd', 'AAAA rd']);
  });

  it('is taken from PLATFORM_ADDRESSES without a look-up', async () => {
    const { send, dns } = await world({ PLATFORM_ADDRESSES: edge.four });
    expect(await send(`https://${edge.four}/`)).toEqual(refused);
    expect(asked(dns)).toEqual([]);
  });
});

describe('The ports of an installation', () => {
  async function isOwnPort(env: Readonly<Record<string, string>>, ...bound: readonly number[]) {
    const server = {
      DATABASE_URL: 'postgres://127.0.0.1/signpost',
      KEY_ENCRYPTION_KEY: 'A'.repeat(43).concat('='),
      ACME_DIRECTORY_URL: 'local',
    };
    const read = loadConfig({ ...server, ...env });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { ownPorts, ownListeners } = composeOwnListeners(
      read.config,
      async () => [],
      () => noon,
    );
    for (const port of bound) ownPorts.inside.add(port);
    return createIsListener(await ownListeners(), { withEdge: true });
  }

  it.each([
    ['the API', { PORT: '3100' }, 3_100],
    ['METRICS_PORT', { METRICS_PORT: '9100' }, 9_100],
    ['the edge over HTTP', {}, 8_080],
    ['the edge over HTTPS', {}, 8_443],
    ['visitors', { PUBLIC_HTTPS_PORT: '443' }, 443],
    ['Caddy', { EDGE: 'caddy', EDGE_CADDY_SECRET: 'a'.repeat(32) }, 9_180],
    ['the database', {}, 5_432],
    ['a database with a port', { DATABASE_URL: 'postgres://localhost:6000/signpost' }, 6_000],
    [
      'a database with a socket',
      { DATABASE_URL: 'postgres:///signpost?host=/run/pg&port=6001' },
      6_001,
    ],
    ['Redis', { REDIS_URL: 'redis://[::1]' }, 6_379],
  ])('include that of %s, also for a process with another role', async (_what, env, port) => {
    const isListener = await isOwnPort({ ROLE: 'edge', ...env });
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '0.0.0.0', '::']) {
      expect([address, isListener(address, port)]).toEqual([address, true]);
    }
    expect(isListener('127.0.0.1', port + 1)).toBe(false);
    expect(isListener('192.0.2.1', port)).toBe(false);
  });

  it('include those of the storage at its own address only', async () => {
    const isListener = await isOwnPort({ DATABASE_URL: 'postgres://192.0.2.7/signpost' });
    const places = [
      ['192.0.2.7', 5_432],
      ['192.0.2.7', 3_000],
      ['127.0.0.1', 5_432],
    ] as const;
    expect(places.map(([address, port]) => isListener(address, port))).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('include every one at PLATFORM_ADDRESSES, and those that a role bound', async () => {
    const isListener = await isOwnPort({ PLATFORM_ADDRESSES: '192.0.2.8' }, 40_000);
    const ports = [3_000, 8_443, 40_000, 5_432];
    expect(ports.map((port) => isListener('192.0.2.8', port))).toEqual([true, true, true, false]);
  });
});

describe('The addresses of a target', () => {
  /** The answer of each look-up; the last one repeats. */
  function remembered(...found: readonly (readonly string[])[]) {
    let [now, count] = [noon, 0];
    const own = rememberAddresses({
      hostname: 'abc.edge.test',
      lookup: async () => found[Math.min(count++, found.length - 1)] ?? [],
      now: () => now,
    });
    return {
      async at(seconds: number) {
        now = later(noon, seconds * 1_000);
        return { own: await own(), count };
      },
    };
  }

  it('are looked up again after five minutes', async () => {
    const { at } = remembered(['192.0.2.1'], ['192.0.2.2']);
    expect(await at(0)).toEqual({ own: ['192.0.2.1'], count: 1 });
    expect(await at(299)).toEqual({ own: ['192.0.2.1'], count: 1 });
    expect(await at(300)).toEqual({ own: ['192.0.2.2'], count: 2 });
  });

  it('stay unchanged while the look-up fails, with a retry after half a minute', async () => {
    const { at } = remembered(['192.0.2.1'], [], ['192.0.2.2']);
    await at(0);
    expect(await at(300)).toEqual({ own: ['192.0.2.1'], count: 2 });
    expect(await at(329)).toEqual({ own: ['192.0.2.1'], count: 2 });
    expect(await at(330)).toEqual({ own: ['192.0.2.2'], count: 3 });
  });

  it('that cannot be looked up are retried every half minute and block deliveries', async () => {
    let [now, count] = [noon, 0];
    const own = rememberAddresses({
      hostname: 'abc.edge.test',
      lookup: () => {
        count += 1;
        return count < 3
          ? Promise.reject(new Error(`failed ${count}`))
          : Promise.resolve(['192.0.2.1']);
      },
      now: () => now,
    });
    const at = (seconds: number) => {
      now = later(noon, seconds * 1_000);
      return own().catch((fault: Error) => fault.message);
    };
    expect([await at(0), await at(29), await at(30)]).toEqual(['failed 1', 'failed 1', 'failed 2']);
    expect([await at(60), count]).toEqual([['192.0.2.1'], 3]);
  });

  it('are unknown if the look-up never succeeded; only this machine’s own are blocked', async () => {
    const { at } = remembered([]);
    expect(await at(0)).toEqual({ own: [], count: 1 });
    expect(await at(29)).toEqual({ own: [], count: 1 });
  });
});

test('A service vets receivers: its own addresses get no webhook', async () => {
  const read = loadConfig({ PLATFORM_ADDRESSES: edge.four, DNS_SERVERS: '127.0.0.1:9' });
  if (!read.ok) throw new Error('the settings do not fit');
  const stored = await openStoredDomains();
  const service = buildService({
    config: read.config,
    database: stored.database,
    backend: noBackend,
    vault: testVault,
    secrets: deriveSecrets(testVault),
    log: pino({ level: 'silent' }),
    now: () => noon,
  });
  const outgoing = {
    url: `https://${edge.four}/`,
    headers: {},
    body: '{}',
    timeoutMs: 10_000,
  };
  expect(await service.send(outgoing)).toEqual(refused);
  await service.close();
  await stored.close();
});
