/** A failed domain is checked daily, so a late record still makes it live. */
import { expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const statusOf = ({ client }: RunningService, status: string) =>
  until(status, async () => {
    const domain = await client.domain();
    return domain.status === status && domain;
  });

it.each(storagesOfRun().filter(({ available }) => available))(
  'on $name a failed domain goes live when its record finally appears',
  { timeout: 180_000 },
  async ({ name }) => {
    const { storage, close } = await freshStorage(name);
    closings.push(close);
    // A window of 3 s makes the day 1.5 s and the 30 days 45 s.
    const env = { VERIFY_WINDOW: '3s', TIME_SCALE: '57600' };
    const service = await startService({ storage, ca: 'local authority', env });
    closings.push(service.close);
    const { record } = await service.client.addDomain();
    const failed = await statusOf(service, 'failed');
    expect(failed.checks.nextCheckAt).not.toBeNull();

    await service.world.publish([`docs CNAME ${record.value}.`]);
    await statusOf(service, 'live');
    expect(await service.client.story()).toEqual([
      'domain.added',
      '+record_missing',
      'domain.failed',
      '-record_missing',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
  },
);
