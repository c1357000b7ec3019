/** The meaning of a browser warning by our own handshake: the edge, another server, or none. */
import { once } from 'node:events';
import { createServer } from 'node:tls';
import { expect, it } from 'vitest';
import { signRoot } from '../../src/certificates/authorities/sign.ts';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';
import { PLATFORM_DOMAIN } from '../../src/cli/demo/test-lab.ts';
import { closeAfterEach } from '../support/closings.ts';
import { forward } from '../support/forward.ts';
import { freePort } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

/** An old server at another address of the name with a self-signed certificate. */
async function startOldServer(port: number, address: string, commonName: string) {
  const key = generatePrivateKey();
  const validity = { notBefore: new Date(0), notAfter: new Date(4e12) };
  const cert = await signRoot({ commonName, key, ...validity });
  const server = createServer({ cert, key: privateKeyToPem(key) });
  server.on('tlsClientError', () => undefined);
  server.listen(port, address);
  await once(server, 'listening');
  closings.push(async () => {
    server.close();
    await once(server, 'close');
  });
}

/** The API's texts once this state is reached. Verify triggers the check. */
async function warningOf({ client }: RunningService, state: string) {
  expect((await client.call('POST', `${client.domainPath}/verify`)).status).toBe(202);
  return until(state, async () => {
    const { status, certificate } = await client.domain();
    return status === 'live' && certificate.browser.state === state && certificate.browser;
  });
}

it('no served certificate is reported when our edge is unreachable from here (EDGE_PROBE=false)', async () => {
  const { storage, close } = await freshStorage();
  closings.push(close);
  // The port is closed: a check would find the address silent.
  const env = { PUBLIC_HTTPS_PORT: String(await freePort()), EDGE_PROBE: 'false' };
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  const { client, world } = service;
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
  const checked = () => client.domain().then(({ status, checks }) => status === 'live' && checks);
  const { lastCheckedAt } = await until('live', checked);
  await client.call('POST', `${client.domainPath}/verify`);
  await until('the next check', async () => {
    const checks = await checked();
    return checks && checks.lastCheckedAt !== lastCheckedAt;
  });
  expect((await client.domain()).certificate.browser).toMatchObject({
    state: 'served',
    shown: null,
  });
}, 180_000);

it('a domain reports what its addresses serve and what that means', async () => {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const publicPort = await freePort();
  const env = { PUBLIC_HTTPS_PORT: String(publicPort) };
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  const { client, world } = service;
  const stopEdge = await forward(publicPort, world.edgeHttpsPort);
  let isStopped = false;
  closings.push(async () => isStopped || stopEdge());

  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
  const served = await until('a served-certificate check', async () => {
    const { certificate } = await client.domain();
    return certificate.browser.shown && certificate;
  });
  expect(served.browser).toMatchObject({
    state: 'served',
    shown: { addresses: [{ address: '127.0.0.1', outcome: 'ours', issuer: served.issuer }] },
  });

  await startOldServer(publicPort, '127.0.0.2', `Old\u001b[2J\u202e CA ${'x'.repeat(999)}`);
  await world.publish(['* A 127.0.0.1', '* A 127.0.0.2'], PLATFORM_DOMAIN);
  const other = await warningOf(service, 'other_certificate');
  expect(other.summary).toContain('127.0.0.2 served a certificate of “Old');
  expect(other.summary).not.toMatch(/[^\x20-\x7e“”…]/);
  expect(other.summary.length).toBeLessThan(600);
  const outcomes = other.shown?.addresses.map(({ address, outcome }) => `${address} ${outcome}`);
  expect(outcomes?.sort()).toEqual(['127.0.0.1 ours', '127.0.0.2 other']);

  await world.publish(['* A 127.0.0.1'], PLATFORM_DOMAIN);
  isStopped = true;
  await stopEdge();
  const silent = await warningOf(service, 'not_shown');
  expect(silent.summary).toContain('127.0.0.1 refused the connection.');
  expect(silent.shown?.addresses).toMatchObject([{ outcome: 'refused', issuer: null }]);
  // Only the texts changed: the state is the same and no event was fired.
  expect((await client.domain()).findings).toEqual([]);
  expect((await client.story()).at(-1)).toBe('domain.live');
}, 180_000);
