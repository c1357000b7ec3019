import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { SecureContext, Server } from 'node:tls';
import { expect, it } from 'vitest';
import { createTlsServers } from '../../src/edge/tls/secure-contexts.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { siteOf, ticketKeys } from './support/sites.ts';

it('Evicted TLS contexts are freed after their last use', async () => {
  const certificate = await localhostCertificate();
  const deps = { ticketKeys, handshakeMs: 1_000, receiver: new EventEmitter() };
  const findServer = createTlsServers({ ...deps, loadCertificate: async () => certificate }, 1);
  const did: string[] = [];
  const use = (id: string) => (made: Server | null) => {
    did.push(`used ${id}`);
    const { context } = (made as unknown as { readonly _sharedCreds: SecureContext })._sharedCreds;
    const close = context.close.bind(context);
    context.close = () => {
      did.push(`freed ${id}`);
      close();
    };
  };
  await Promise.all(['a', 'b'].map((id) => findServer(siteOf(id)).then(use(id))));
  await turn();
  expect(did).toEqual(['used a', 'used b', 'freed a']);
  await findServer(siteOf('b'));
  await turn();
  expect(did).toHaveLength(3);
});

it('A certificate that could not be parsed is loaded again', async () => {
  const loads = [{ chain: 'no PEM', key: 'no PEM' }, await localhostCertificate()];
  const findServer = createTlsServers({
    ticketKeys,
    handshakeMs: 1_000,
    receiver: new EventEmitter(),
    loadCertificate: async () => loads.shift() ?? null,
  });
  await expect(findServer(siteOf('a'))).rejects.toThrow();
  expect(await findServer(siteOf('a'))).not.toBeNull();
});
