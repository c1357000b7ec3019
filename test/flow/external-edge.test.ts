/** A real Caddy asks Signpost for permission, and Signpost checks what Caddy serves. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { visit } from '../../src/cli/demo/test-lab.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { age } from '../support/aged-certificate.ts';
import { type Caddy, startCaddy } from '../support/caddy.ts';
import { type Client, createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type Pebble, startPebble } from '../support/pebble.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

const closings = closeAfterEach();

type TestLab = {
  readonly world: World;
  readonly client: Client;
  readonly signpost: Signpost;
  caddy(): Promise<Caddy>;
  visit(hostname: string): ReturnType<typeof visit>;
};

async function startTestLab(env: Readonly<Record<string, string>> = {}): Promise<TestLab> {
  const { storage, close } = await freshStorage();
  const folder = await mkdtemp(join(tmpdir(), 'external-'));
  const rootsFile = join(folder, 'roots.pem');
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const world = await startWorld({
    storage,
    ca: 'local authority',
    env: {
      CERTIFICATES: 'external',
      PUBLIC_HTTPS_PORT: String(httpsPort),
      ACME_CA_FILE: rootsFile,
      ...env,
    },
  });
  const pebble: Pebble = await startPebble({
    httpPort,
    tlsPort: httpsPort,
    dnsServer: world.env['DNS_SERVERS'] ?? '',
  });
  const roots = await pebble.rootCertificates();
  await writeFile(rootsFile, roots);
  closings.push(close, () => rm(folder, { recursive: true }), world.close, pebble.close);
  const signpost = await startService(world);
  const { apiUrl, upstream } = world;
  return {
    world,
    client: createClient(world),
    signpost,
    async caddy() {
      const caddy = await startCaddy({ httpPort, httpsPort, apiUrl, upstream, acme: pebble });
      closings.push(caddy.close);
      return caddy;
    },
    visit: (hostname) => visit(hostname, httpsPort, roots),
  };
}

async function startService(world: World): Promise<Signpost> {
  const result = loadConfig(world.env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(10_000));
  return signpost;
}

async function addRight({ client, world }: TestLab): Promise<void> {
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
}

const become = (client: Client, status: string) =>
  until(status, async () => {
    const domain = await client.domain();
    return domain.status === status && domain;
  });

const without =
  lacks('caddy', 'an external edge with certificates from Pebble') ||
  lacks('pebble', 'an external edge with certificates from Pebble');

describe.skipIf(without)('with Caddy in front', { timeout: 180_000 }, () => {
  it('a domain goes live and is no longer served after its removal', async () => {
    const testLab = await startTestLab();
    const { client, signpost, visit, world } = testLab;
    const first = await testLab.caddy();
    await world.publish(['nobody A 127.0.0.1']); // a public CA would issue
    await expect(visit(`nobody.${world.zone}`)).rejects.toThrow(/alert|disconnected/);

    await addRight(testLab);
    const { certificate } = await become(client, 'live');
    expect(certificate).toMatchObject({ status: 'issued', problem: null });
    expect(certificate.issuer).toMatch(/Pebble/);
    expect((await client.story()).filter((event) => !/^[+-]/.test(event))).toEqual([
      'domain.added',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
    const answer = await visit(world.hostname);
    expect(answer).toMatchObject({ status: 200, body: 'Hello from the project’s deploy.\n' });
    expect(Date.parse(answer.validTo)).toBe(Date.parse(certificate.expiresAt ?? ''));
    // Our own edge is disabled and has no key.
    expect(signpost.addresses.edge).toBeNull();
    const stored = await signpost.service.database.prisma.certificate.findMany();
    expect(stored.map(({ sealedKey, status }) => [sealedKey, status])).toEqual([[null, 'issued']]);

    expect((await client.call('DELETE', client.domainPath)).status).toBe(204);
    expect((await visit(world.hostname)).status).toBe(404);
    await first.close();
    await testLab.caddy();
    await expect(visit(world.hostname)).rejects.toThrow(/alert|disconnected/);
  });

  it('a domain without a served certificate is escalated with that cause, and goes live once it has one', async () => {
    const testLab = await startTestLab({ ESCALATE_AFTER: '1s' });
    const { client, visit, world } = testLab;
    await addRight(testLab);
    const { escalation } = await until('the escalation', async () => {
      const domain = await client.domain();
      return domain.escalation?.cause === 'certificate_not_shown' && domain;
    });
    expect(escalation?.summary).toContain('127.0.0.1 refuses the connection');
    expect(escalation?.nextAction).toContain('The edge is checked again at');

    await testLab.caddy();
    expect((await client.call('POST', `${client.domainPath}/verify`)).status).toBe(202);
    expect((await become(client, 'live')).escalation).toBeNull();
    expect((await visit(world.hostname)).status).toBe(200);
  });

  it('a renewal places no order: it reads the certificate served by then', async () => {
    const testLab = await startTestLab();
    const { client, signpost, world } = testLab;
    await testLab.caddy();
    await addRight(testLab);
    const { certificate } = await become(client, 'live');
    const { database } = signpost.service;
    // As if Caddy had served another one until now.
    await age(database, world.hostname);
    await until('the renewal', async () => (await client.story()).at(-1) === 'certificate.renewed');
    const renewed = await client.domain();
    expect(renewed.status).toBe('live');
    expect(renewed.certificate.expiresAt).toBe(certificate.expiresAt);
    expect(await database.prisma.certificate.count({ where: { orderUrl: { not: null } } })).toBe(0);
  });
});
