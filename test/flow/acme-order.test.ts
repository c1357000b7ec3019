/** One order at the CA per certificate, whatever happens in between. */
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { type AcmeFront, startAcmeFront } from '../support/acme-front.ts';
import { type Client, createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

type Running = {
  readonly world: World;
  readonly front: AcmeFront;
  readonly client: Client;
  readonly signpost: Signpost;
};
const closings = closeAfterEach();

/** A whole service with a Pebble behind a front as its CA. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const world = await startWorld({ storage, ca: 'Pebble' });
  closings.push(world.close);
  const { ACME_DIRECTORY_URL: directoryUrl = '', ACME_CA_FILE: caFile = '' } = world.env;
  const front = await startAcmeFront({ directoryUrl, caFile });
  closings.push(front.close);
  const before = { ACME_DIRECTORY_URL: front.directoryUrl, ACME_CA_FILE: front.caFile };
  const result = loadConfig({ ...world.env, ...before, ...env });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(10_000));
  return { world, front, client: createClient(world), signpost };
}

async function publish({ world, client }: Running): Promise<void> {
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
}

async function goLive(running: Running): Promise<void> {
  const { client } = running;
  await until('live', async () => (await client.domain()).status === 'live');
  expect(running.front.placed()).toHaveLength(1);
  const story = await client.story();
  expect(story.filter((type) => type === 'certificate.issued')).toHaveLength(1);
  expect(story).not.toContain('certificate.failed');
}

describe.skipIf(lacks('pebble', 'one order for one certificate'))(
  'One order is placed',
  { timeout: 180_000 },
  () => {
    it('even if the certificate cannot be stored at first', async () => {
      const running = await start();
      const { certificates } = running.signpost.service;
      const store = vi.spyOn(certificates, 'store');
      store.mockRejectedValueOnce(new Error('the disk is full'));
      await publish(running);
      await goLive(running);
      expect(store.mock.calls.length).toBeGreaterThan(1);
    });

    it('even if the CA sends rate limits during the order', async () => {
      const running = await start();
      const type = 'urn:ietf:params:acme:error:rateLimited';
      let slowed = 0;
      running.front.meddle({
        before: ({ step }) => {
          if (step !== 'finalize' || slowed++ > 0) return undefined;
          const headers = { 'content-type': 'application/problem+json', 'retry-after': '1' };
          return { status: 429, headers, body: JSON.stringify({ type, detail: 'slow down' }) };
        },
      });
      await publish(running);
      await goLive(running);
      expect(slowed).toBeGreaterThan(1);
    });

    it('only with the configured profile; otherwise the log lists the offered ones', async () => {
      const running = await start({ ACME_PROFILE: 'shortlived' });
      const { database } = running.signpost.service;
      await publish(running);
      const noted = await until('the setback', async () => {
        const order = await database.prisma.certificate.findFirst({
          where: { status: 'ordering' },
        });
        return order?.setback;
      });
      const detail =
        'ca_misconfigured: ACME_PROFILE is shortlived, but the certificate authority offers no profiles';
      expect(noted).toMatchObject({ detail });
      expect(running.front.requests.some(({ step }) => step === 'newOrder')).toBe(false);
      expect((await running.client.domain()).certificate.status).toBe('ordering');
    });
  },
);
