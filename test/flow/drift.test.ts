/** A live domain whose DNS changes and is repaired: detected, one event, served throughout. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storagesOfRun } from '../support/storage.ts';
import { until, visitDomain } from '../support/world.ts';

const closings = closeAfterEach();

/** With a window of 2 min a live domain is checked every 2 s, and a miss confirmed after 0.4 s. */
async function start(name: StorageName): Promise<RunningService> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const env = { TIME_SCALE: '1440' };
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  return service;
}

const statusOf = ({ client }: RunningService, status: string) =>
  until(status, async () => {
    const domain = await client.domain();
    return domain.status === status && domain;
  });

describe.each(storagesOfRun('postgres_redis'))(
  'on $name a live domain',
  { timeout: 180_000 },
  ({ name, available }) => {
    it.skipIf(!available)('drifts, stays served, and is live again after the repair', async () => {
      const service = await start(name);
      const { world, client, signpost } = service;
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);
      await statusOf(service, 'live');

      await world.publish(['docs CNAME old.example.']);
      const drifted = await statusOf(service, 'drifted');
      expect(drifted.findings.map(({ code }) => code)).toEqual(['cname_mismatch']);
      expect(drifted.checks.nextCheckAt).not.toBeNull();
      const roots = await world.rootCertificates(signpost.service.rootCertificate);
      expect(await visitDomain(world, roots)).toMatchObject({ status: 200 });

      await world.publish([`docs CNAME ${record.value}.`]);
      expect((await statusOf(service, 'live')).findings).toEqual([]);
      const story = await client.story();
      expect(story.slice(story.indexOf('domain.live') + 1)).toEqual([
        '+cname_mismatch',
        'domain.drifted',
        '-cname_mismatch',
        'domain.recovered',
      ]);
    });

    it.skipIf(!available)('reports CAA that would forbid renewal, and stays live', async () => {
      const service = await start(name);
      const { world, client } = service;
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);
      await statusOf(service, 'live');
      await world.publish([`docs CNAME ${record.value}.`, '@ CAA 0 issue "other-ca.example"']);
      // Verify checks at once and keeps a served domain up.
      expect((await client.call('POST', `${client.domainPath}/verify`)).status).toBe(202);
      const warned = await until('the finding', async () => {
        const domain = await client.domain();
        return domain.findings.length > 0 && domain;
      });
      expect(warned.status).toBe('live');
      expect(warned.findings.map(({ code }) => code)).toEqual(['caa_blocks']);
      expect((await client.story()).slice(-2)).toEqual(['domain.live', '+caa_blocks']);
    });
  },
);
