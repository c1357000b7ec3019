/** What edges open has a key of its own: from the start of an installation, or once an older one is moved. */
import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openVault } from '../src/certificates/vault/open-vault.ts';
import { createSplitVault, createVault } from '../src/certificates/vault/vault.ts';
import type { Storage } from '../src/config/config.ts';
import { type Database, openDatabase } from '../src/db/engine/client.ts';
import { NotPrepared } from '../src/db/engine/prepared.ts';
import { signpost } from './cli/cli.ts';
import { closeAfterEach } from './support/closings.ts';
import { lacks } from './support/programs.ts';
import { freshStorage } from './support/storage.ts';

vi.setConfig({ testTimeout: 120_000 });

const without = lacks('postgres', 'the key of edges');
const closings = closeAfterEach();
const kek = randomBytes(32);
const edgeKek = createVault(kek).edgeKeys[0] ?? new Uint8Array();
const text = (key: Uint8Array) => Buffer.from(key).toString('base64');
let storage: Extract<Storage, { kind: 'postgres' }>;
let database: Database;

beforeEach(async () => {
  if (without) return;
  const fresh = await freshStorage('postgres');
  closings.push(fresh.close);
  storage = fresh.storage as typeof storage; // what was asked for
  database = await openDatabase(storage, pino({ level: 'silent' }));
  closings.push(() => database.close());
});

const open = (key: Uint8Array, role: 'api' | 'edge') =>
  openVault({ keyEncryptionKeys: [key], storage, role }, database);
const rotate = (...args: readonly string[]) =>
  signpost(['rotate-keys', ...args], {
    DATABASE_URL: storage.databaseUrl,
    KEY_ENCRYPTION_KEY: text(kek),
  });

/** Stores a certificate's key as a process of the time would have; returns what it is bound to. */
async function storeCertificate(seal: (plain: Uint8Array, to: string) => Uint8Array<ArrayBuffer>) {
  const [id, domainId, projectId] = [randomUUID(), randomUUID(), randomUUID()];
  const { prisma } = database;
  await prisma.project.create({ data: { id: projectId, name: 'Shop', slug: projectId } });
  const times = { addedAt: new Date(), pendingSince: new Date() };
  const domain = { id: domainId, projectId, hostname: 'a.test', target: 't', ...times };
  await prisma.domain.create({ data: { ...domain, status: 'pending' } });
  const sealedKey = seal(Buffer.from('a private key'), `certificate/${id}`);
  await prisma.certificate.create({
    data: { id, domainId, hostname: 'a.test', status: 'failed', sealedKey },
  });
  return id;
}

async function openByEdge(id: string): Promise<string> {
  const { vault } = await open(edgeKek, 'edge');
  const { sealedKey } = await database.prisma.certificate.findUniqueOrThrow({ where: { id } });
  return vault.open(sealedKey ?? new Uint8Array(), `certificate/${id}`).toString();
}

describe.skipIf(without)('a new installation', () => {
  it('seals for edges from its first start, and an edge waits for that', async () => {
    const { loadSecrets } = await open(edgeKek, 'edge');
    await expect(loadSecrets()).rejects.toThrow(NotPrepared);
    const first = await open(kek, 'api');
    const whole = await first.loadSecrets();
    const ofEdge = await loadSecrets();
    for (const name of ['target', 'probe', 'signing', 'tickets'] as const) {
      expect([name, text(ofEdge[name])]).toEqual([name, text(whole[name])]);
    }
    expect([ofEdge.proof, ofEdge.session]).toEqual([new Uint8Array(), new Uint8Array()]);
    const later = await open(kek, 'api');
    expect(await openByEdge(await storeCertificate(later.vault.seal))).toBe('a private key');
  });

  it('has no API or worker that starts with the key of an edge', async () => {
    await (await open(kek, 'api')).loadSecrets();
    await expect(open(edgeKek, 'api')).rejects.toThrow('no key of KEY_ENCRYPTION_KEY opens');
  });
});

describe.skipIf(without)('an installation from before', () => {
  it('seals as it did until it is moved, and from then on for edges', async () => {
    const before = createVault(kek);
    const sealedValue = before.seal(randomBytes(32), 'derived_secret/target');
    await database.prisma.derivedSecret.create({ data: { name: 'target', sealedValue } });
    const old = await storeCertificate(before.seal);
    const started = await open(kek, 'api');
    const secrets = await started.loadSecrets();
    expect(started.vault.isSplit).toBe(false);
    const between = await storeCertificate(started.vault.seal);
    await expect(open(edgeKek, 'edge')).rejects.toThrow('opens 2 certificate keys');

    expect(await rotate('--edges')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^resealed: 4 derived secrets and 2 certificate keys\n/),
    });
    expect(await openByEdge(old)).toBe('a private key');
    expect(await openByEdge(between)).toBe('a private key');
    const ofEdge = await (await open(edgeKek, 'edge')).loadSecrets();
    expect(text(ofEdge.signing)).toBe(text(secrets.signing));

    // What a process that was not started again since has sealed meanwhile.
    const late = await storeCertificate(started.vault.seal);
    await expect(open(edgeKek, 'edge')).rejects.toThrow('opens 1 certificate key');
    expect((await open(kek, 'api')).vault.isSplit).toBe(true);
    expect((await rotate('--check')).code).toBe(1);
    expect(await rotate()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^resealed: 1 certificate key\n/),
    });
    expect(await openByEdge(late)).toBe('a private key');
    expect((await rotate()).stdout).toMatch(/^resealed: nothing\n/);
    expect(await (await open(kek, 'api')).loadSecrets()).toEqual(secrets);
  });
});

describe('the key of edges', () => {
  it('is printed for the keys of the environment, in their order', async () => {
    const second = randomBytes(32);
    const env = { KEY_ENCRYPTION_KEY: `${text(kek)},${text(second)}` };
    const { code, stdout } = await signpost(['edge', 'key'], env);
    const secondEdge = createVault(second).edgeKeys[0] ?? new Uint8Array();
    expect([code, stdout]).toEqual([0, `${text(edgeKek)},${text(secondEdge)}\n`]);
    expect((await signpost(['edge', 'key'], {})).code).toBe(2);
  });

  it('opens certificates and the secrets that edges work with, and nothing else', () => {
    const split = createSplitVault(kek);
    const edge = createVault(edgeKek);
    const isOpen = (boundTo: string) => edge.knows(split.seal(Buffer.from('x'), boundTo));
    const opened = ['certificate/1', 'target', 'probe', 'signing', 'tickets'];
    const others = ['acme_account/x', 'local_authority/root', 'webhook/1', 'proof', 'session'];
    const boundTo = (name: string) => (name.includes('/') ? name : `derived_secret/${name}`);
    expect(opened.map(boundTo).map(isOpen)).toEqual([true, true, true, true, true]);
    expect(others.map(boundTo).map(isOpen)).toEqual([false, false, false, false, false]);
  });

  it('never changes for the same key: stored items depend on it', () => {
    const [edgeKey] = createVault(new Uint8Array(32)).edgeKeys;
    expect(Buffer.from(edgeKey ?? []).toString('hex')).toBe(
      '861037be2c078de938974b548949c2cb9da02b356dda3f8b530af7cc99a89c01',
    );
  });
});
