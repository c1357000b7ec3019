import { once } from 'node:events';
import { createServer as createTcpServer, type Server } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LOCAL_AUTHORITY } from '../../src/certificates/authorities/local.ts';
import { signRoot } from '../../src/certificates/authorities/sign.ts';
import {
  createRecordServedCertificate,
  type RecordServedCertificateDeps,
} from '../../src/certificates/served/served-certificate.ts';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';
import type { ServedCheck } from '../../src/core/certificates/served.ts';
import type { VisitedDomain } from '../../src/db/domains/served-certificates.ts';
import { type EdgeFixture, startEdgeFixture } from '../edge/support/fixture.ts';
import { later, noon } from '../support/builders.ts';
import { freePort } from '../support/servers.ts';
import { until } from '../support/world.ts';

const domain: VisitedDomain = { id: 'an id', epoch: 1, hostname: 'docs.shop.test', findings: [] };
const { hostname } = domain;
const servers: Server[] = [];
let edge: EdgeFixture;

beforeEach(async () => {
  edge = await startEdgeFixture();
  await edge.publish(hostname, null);
});
afterEach(async () => {
  await edge.close();
  for (const server of servers.splice(0)) {
    server.close();
    await once(server, 'close');
  }
});

const chainShown = () => edge.certificates.get(hostname)?.chain ?? '';

/** Serves at the port of the edge. */
async function serveAt(address: string, server: Server): Promise<void> {
  servers.push(server);
  server.listen(edge.ports.httpsPort, address);
  await once(server, 'listening');
}

async function selfSigned(commonName: string): Promise<Server> {
  const key = generatePrivateKey();
  const validity = { notBefore: later(new Date(), -86_400_000), notAfter: new Date(4e12) };
  const options: TlsOptions = {
    cert: await signRoot({ commonName, key, ...validity }),
    key: privateKeyToPem(key),
  };
  return createServer(options).on('tlsClientError', () => undefined);
}

/** Records the handshakes at these addresses. */
function recorder(
  addresses: readonly string[],
  more: Partial<RecordServedCertificateDeps> = {},
  of = domain,
) {
  const noted: ServedCheck[] = [];
  const recordServedCertificate = createRecordServedCertificate({
    lookupAddresses: async () => addresses,
    port: edge.ports.httpsPort,
    allowPrivate: true,
    loadChains: async () => [chainShown()],
    save: async (_domain, shown) => void noted.push(shown),
    now: () => noon,
    pause: async () => {},
    ...more,
  });
  return async (options?: { readonly isNew: boolean }) => {
    await recordServedCertificate(of, options);
    return noted.splice(0);
  };
}

it('is not recorded behind a proxy, which shows its own certificate', async () => {
  const noted: ServedCheck[] = [];
  const recordServedCertificate = createRecordServedCertificate({
    lookupAddresses: async () => ['127.0.0.1'],
    port: edge.ports.httpsPort,
    allowPrivate: true,
    loadChains: async () => [chainShown()],
    save: async (_domain, shown) => void noted.push(shown),
    now: () => noon,
    pause: async () => {},
  });
  await recordServedCertificate({ ...domain, findings: [{ code: 'proxied' }] });
  expect(noted).toEqual([]);
});

async function recorded(...asked: Parameters<typeof recorder>) {
  const [noted, ...others] = await recorder(...asked)();
  expect(others).toEqual([]);
  return noted?.addresses;
}

describe('a check of the served certificate', () => {
  const unpublished = { ...domain, hostname: 'new.shop.test' };
  const loadChains = async () => {
    const stored = edge.certificates.get(unpublished.hostname);
    return stored === undefined ? [] : [stored.chain];
  };

  it('is repeated until an edge serves a certificate that was just stored', async () => {
    const pauses: number[] = [];
    const pause = async (ms: number) => {
      pauses.push(ms);
      if (pauses.length === 2) await edge.publish(unpublished.hostname, null);
    };
    const record = recorder(['127.0.0.1'], { pause, loadChains }, unpublished);
    expect(await record({ isNew: true })).toMatchObject([{ addresses: [{ outcome: 'ours' }] }]);
    expect(pauses).toEqual([1_000, 3_000]);
  });

  it('is not repeated at an address that refuses connections', async () => {
    const pause = () => Promise.reject(new Error('it paused'));
    const record = recorder(['127.0.0.1'], { pause, loadChains, port: await freePort() });
    const refused = [{ addresses: [{ outcome: 'refused' }] }];
    expect(await record({ isNew: true })).toMatchObject(refused);
  });

  it('is not repeated for an older certificate', async () => {
    const pause = () => Promise.reject(new Error('it paused'));
    const record = recorder(['127.0.0.1'], { pause, loadChains }, unpublished);
    expect(await record()).toMatchObject([{ addresses: [{ outcome: 'no_certificate' }] }]);
  });

  it('recognizes the stored certificate and records the time', async () => {
    const issuer = expect.stringContaining(LOCAL_AUTHORITY);
    const names = [hostname];
    expect(await recorder(['127.0.0.1'])()).toEqual([
      { checkedAt: noon, addresses: [{ address: '127.0.0.1', outcome: 'ours', issuer, names }] },
    ]);
  });

  it('recognizes the previous certificate on an edge that has not reloaded yet', async () => {
    const before = chainShown();
    await edge.publish('other.shop.test', null);
    const newer = edge.certificates.get('other.shop.test')?.chain ?? '';
    const seen = await recorded(['127.0.0.1'], { loadChains: async () => [newer, before] });
    expect(seen).toMatchObject([{ outcome: 'ours_before' }]);
  });

  it('loads the stored certificates last, so that a new one is recognized', async () => {
    const steps: string[] = [];
    edge.lookups.on('route', () => steps.push('handshake'));
    await recorded(['127.0.0.1'], {
      loadChains: async () => {
        steps.push('load');
        return [chainShown()];
      },
    });
    expect(steps.at(-1)).toBe('load');
    expect(steps).toContain('handshake');
  });

  it('names another certificate by its issuer, as sanitized and truncated text', async () => {
    await serveAt('127.0.0.2', await selfSigned('Old CA'));
    await serveAt('127.0.0.3', await selfSigned(`\u001b[2J\nO=Us\u202e${'x'.repeat(5_000)}`));
    const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const [ours, old, hostile] = (await recorded(addresses)) ?? [];
    expect(ours).toMatchObject({ outcome: 'ours' });
    expect(old).toEqual({ address: '127.0.0.2', outcome: 'other', issuer: 'Old CA', names: [] });
    expect(hostile?.outcome).toBe('other');
    expect(hostile?.issuer).toMatch(/^[\x20-\x7e]+…$/);
    expect(hostile?.issuer).toMatch(/xxx…$/);
  });

  it('distinguishes a server without a certificate from a refused connection', async () => {
    await serveAt(
      '127.0.0.2',
      createTcpServer((socket) => void socket.resume().end('HTTP/1.1 400\r\n\r\n')),
    );
    expect(await recorded(['127.0.0.2', '127.0.0.9'])).toEqual([
      { address: '127.0.0.2', outcome: 'no_certificate', issuer: null, names: [] },
      { address: '127.0.0.9', outcome: 'refused', issuer: null, names: [] },
    ]);
    edge.routes.clear();
    expect(await recorded(['127.0.0.1'])).toMatchObject([{ outcome: 'no_certificate' }]);
  });

  it('waits for a silent address once, not once per domain', async () => {
    let connections = 0;
    const silent = createTcpServer((socket) => {
      connections += 1;
      socket.resume();
    });
    await serveAt('127.0.0.2', silent);
    const again = recorder(['127.0.0.2'], { handshakeMs: 50 });
    for (const _time of ['first', 'second']) {
      expect(await again()).toMatchObject([{ addresses: [{ outcome: 'timeout' }] }]);
    }
    await until('the responses', async () => connections > 0);
    expect(connections).toBe(1);
  });

  it('skips private addresses', async () => {
    const seen = await recorded(['127.0.0.1', '::1'], { allowPrivate: false });
    expect(seen).toMatchObject([{ outcome: 'reserved' }, { outcome: 'reserved' }]);
  });

  it('connects to at most eight addresses, once each', async () => {
    const many = Array.from({ length: 20 }, (_, place) => `127.0.1.${place % 10}`);
    expect(await recorded(many)).toHaveLength(8);
  });

  it('records that the name has no address', async () => {
    const loadChains = () => Promise.reject(new Error('nothing to compare'));
    expect(await recorded([], { loadChains })).toEqual([]);
  });
});
