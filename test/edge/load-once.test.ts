import { EventEmitter, once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTlsServers, keepCertificates } from '../../src/edge/tls/secure-contexts.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { sizeOfRun } from '../support/run.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';
import { siteOf, ticketKeys } from './support/sites.ts';

const names = (count: number) => Array.from({ length: count }, (_, nth) => `n${nth}.acme.test`);

describe('Concurrent first requests for many names', () => {
  it('all get their route, even when fewer fit than are loading', async () => {
    const { chain, key } = await localhostCertificate();
    let loads = 0;
    const findServer = createTlsServers(
      {
        ticketKeys,
        handshakeMs: 1_000,
        receiver: new EventEmitter(),
        async loadCertificate() {
          loads += 1;
          await new Promise(setImmediate); // others arrive in between
          return { chain, key };
        },
      },
      100,
    );
    const count = sizeOfRun({ quick: 400, long: 1_500 });
    for (const round of [names(count), names(count)]) {
      const found = await Promise.all([...round, ...round].map(siteOf).map(findServer));
      expect(found.filter((server) => server === null)).toEqual([]);
    }
    expect(loads).toBeGreaterThanOrEqual(2 * count - 100); // once per round, except for the 100
    expect(loads).toBeLessThanOrEqual(2 * count);
  });

  it('all get their certificate, even when fewer fit than are loading', async () => {
    const chain = 'x'.repeat(1024 * 1024);
    const load = keepCertificates(async () => {
      await new Promise(setImmediate);
      return { chain, sealedKey: new Uint8Array(8) };
    });
    for (const round of [names(200), names(1_500)]) {
      const found = await Promise.all(round.map(load));
      expect(found.filter((one) => one === null)).toEqual([]);
    }
  });

  it('are retried after a failed load, which affects no other name', async () => {
    let isUp = false;
    const load = keepCertificates(async (id) => {
      if (!isUp && id === 'b') throw new Error('the database is away');
      return { chain: id, sealedKey: new Uint8Array(8) };
    });
    const [a, ...bs] = await Promise.allSettled(['a', 'b', 'b'].map(load));
    expect(a?.status).toBe('fulfilled');
    expect(bs.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isUp = true;
    expect(await load('b')).toMatchObject({ chain: 'b' });
  });
});

describe('A freshly started edge', () => {
  let edge: EdgeFixture;
  let deploy: Awaited<ReturnType<typeof startDeploy>>;
  beforeAll(async () => {
    edge = await startEdgeFixture({ handshakeMs: 80_000 }); // the last of hundreds is slow on a busy machine
    deploy = await startDeploy((_request, response) => response.end('hello'));
  });
  afterAll(async () => {
    await edge.close();
    await deploy.close();
  });

  it('completes handshakes for hundreds of names at once', async () => {
    // One certificate for all: other tests check which name gets which.
    await edge.publish('docs.acme.test', deploy.url);
    const certificate = edge.certificates.get('docs.acme.test');
    const route = edge.routes.get('docs.acme.test');
    if (certificate === undefined || route === undefined) throw new Error('not published');
    const hosts = names(sizeOfRun({ quick: 120, long: 400 }));
    for (const hostname of hosts) {
      edge.routes.set(hostname, { ...route, hostname, certificateId: hostname });
      edge.certificates.set(hostname, certificate);
    }
    const shaken = await Promise.all(
      hosts.map(async (servername) => {
        const port = edge.ports.httpsPort;
        const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        socket.destroy();
        return true;
      }),
    );
    expect(shaken).toHaveLength(hosts.length);
    expect(edge.warnings).toEqual([]);
  });
});
