/** A platform without port 80: the certificate comes by tls-alpn-01 through the HTTPS port. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { startSignpost } from '../../src/start.ts';
import { createClient } from '../support/client.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, visitDomain } from '../support/world.ts';

describe.skipIf(lacks('pebble', 'a domain without a port 80'))('A domain without a port 80', () => {
  it('goes live by tls-alpn-01', { timeout: 180_000 }, async ({ onTestFinished }) => {
    const { storage, close } = await freshStorage();
    onTestFinished(close);
    // No server listens where the CA would look for http-01.
    const world = await startWorld({ storage, ca: 'Pebble', challengePort: await freePort() });
    onTestFinished(world.close);
    const loaded = loadConfig({ ...world.env, ACME_CHALLENGE: 'tls-alpn-01' });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const signpost = await startSignpost(loaded.config, pino({ level: 'silent' }));
    onTestFinished(() => signpost.close(10_000));
    const client = createClient(world);

    const { record } = await client.addDomain();
    await world.publish([
      `docs CNAME ${record.value}.`,
      // CAA findings name this method (RFC 8657, 4).
      '@ CAA 0 issue "letsencrypt.org; validationmethods=tls-alpn-01"',
    ]);
    await until('live', async () => (await client.domain()).status === 'live');

    const { prisma } = signpost.service.database;
    expect(await prisma.challenge.count()).toBe(0);
    expect(await client.story()).not.toContain('certificate.failed');
    const roots = await world.rootCertificates(async () => null);
    expect((await visitDomain(world, roots)).status).toBe(200);
  });
});
