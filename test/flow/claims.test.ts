/** Two projects, one name: the DNS decides, the loser is told, and visitors see who won. */
import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../support/client.ts';
import { startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until, visitDomain } from '../support/world.ts';

const closings: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

describe('a name that two projects add', () => {
  it('goes to the one that its record points to, and moves when the record does', async () => {
    const { storage, close } = await freshStorage('embedded');
    closings.push(close);
    const service = await startService({ storage, ca: 'local authority' });
    closings.push(service.close);
    const { world, signpost } = service;
    const [one, other] = [service.client, createClient(world)];
    const first = await one.addDomain();
    const second = await other.addDomain();
    expect(second.record.value).not.toBe(first.record.value);

    await world.publish([`docs CNAME ${first.record.value}.`]);
    await until('the first is live', async () => (await one.domain()).status === 'live');
    await until('the second is told', async () =>
      (await other.domain()).findings.some(({ code }) => code === 'cname_mismatch'),
    );

    await world.publish([`docs CNAME ${second.record.value}.`]);
    await until('the second is live', async () => (await other.domain()).status === 'live');
    expect((await one.domain()).status).toBe('pending');
    await until('the first is told', async () => (await one.story()).includes('+cname_mismatch'));
    expect(await one.story()).toContain('domain.claimed_elsewhere');
    const roots = await world.rootCertificates(signpost.parts.rootCertificate);
    expect((await visitDomain(world, roots)).status).toBe(200);
  });
});
