/** An old certificate is replaced at a real CA while it is still served. */

import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../src/core/time.ts';
import { age } from '../support/aged-certificate.ts';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { type CaKind, until, type World } from '../support/world.ts';

const closings = closeAfterEach();

async function startLive(ca: CaKind): Promise<RunningService> {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const service = await startService({ storage, ca });
  closings.push(service.close);
  const { record } = await service.client.addDomain();
  await service.world.publish([`docs CNAME ${record.value}.`]);
  await until('live', async () => (await service.client.domain()).status === 'live');
  return service;
}

function serialShown({ edgeHttpsPort, hostname }: World): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port: edgeHttpsPort, host: '127.0.0.1', servername: hostname, rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      },
    );
    socket.once('error', reject);
  });
}

const cas = ['local authority', 'Pebble'] as const;
const withoutPebble = lacks('pebble', 'renewals with certificates from Pebble');

describe.each(cas)('with %s', { timeout: 180_000 }, (ca) => {
  const skipped = ca === 'Pebble' && withoutPebble;
  it.skipIf(skipped)('an expiring certificate is renewed on a live domain', async () => {
    const service = await startLive(ca);
    const { client, world } = service;
    const first = await serialShown(world);
    await age(service.signpost.service.database, service.world.hostname);
    const serials = new Set<string>();
    await until('the new certificate', async () => {
      serials.add(await serialShown(world)); // a certificate is served at every moment
      return (await client.story()).at(-1) === 'certificate.renewed';
    });
    const next = await until('its serial number', async () => {
      const shown = await serialShown(world);
      return shown !== first && shown;
    });
    expect([...serials].every((serial) => serial === first || serial === next)).toBe(true);
    const { status, certificate } = await client.domain();
    expect({ status, certificate: certificate.status }).toEqual({
      status: 'live',
      certificate: 'issued',
    });
    expect(Date.parse(certificate.expiresAt ?? '')).toBeGreaterThan(Date.now() + 80 * DAY);
    expect((await client.story()).filter((type) => type === 'certificate.renewed')).toHaveLength(1);
  });
});
