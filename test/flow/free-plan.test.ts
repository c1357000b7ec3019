/** What a project on the Free plan keeps, and what it does not get. */
import { expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

it('A downgraded project keeps its live domain, and gets the next one only on a paid plan', async () => {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority' });
  closings.push(service.close);
  const { world, client } = service;

  const { record } = await client.addDomain();
  const [project = ''] = client.domainPath.split('/domains/');
  const next = `${project}/domains/next.${world.zone}`;
  await world.publish([`docs CNAME ${record.value}.`]);
  await until('the first is live', async () => (await client.domain()).status === 'live');
  const added = await client.call('POST', `${project}/domains`, { hostname: `next.${world.zone}` });
  expect(added.status).toBe(201);
  await client.call('PATCH', project, { plan: 'free' });

  const { value } = (added.body as typeof domain).record;
  await world.publish([`docs CNAME ${record.value}.`, `next CNAME ${value}.`]);
  const domain = await until('the finding of the second', async () => {
    const shown = (await client.call('GET', next)).body as {
      readonly status: string;
      readonly record: { readonly value: string };
      readonly findings: readonly { readonly code: string; readonly actor: string }[];
    };
    return shown.findings.some(({ code }) => code === 'plan_required') && shown;
  });
  expect(domain).toMatchObject({ status: 'pending', findings: [{ actor: 'customer' }] });
  const refused = { status: 403, body: { code: 'paid_plan_required' } };
  expect(await client.call('POST', `${next}/verify`)).toMatchObject(refused);
  const another = { hostname: `another.${world.zone}` };
  expect(await client.call('POST', `${project}/domains`, another)).toMatchObject(refused);
  const live = `${project}/domains/docs.${world.zone}`;
  expect(await client.call('POST', `${live}/verify`)).toMatchObject({ status: 202 });
  expect((await client.domain()).status).toBe('live');

  await client.call('PATCH', project, { plan: 'pro' });
  expect((await client.call('POST', `${next}/verify`)).status).toBe(202);
  await until('the second is live', async () => {
    const { body } = await client.call('GET', next);
    return (body as { status: string }).status === 'live';
  });
}, 180_000);
