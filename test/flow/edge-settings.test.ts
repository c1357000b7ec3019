/** What a project's domain settings do at the edge of a real service: as soon as it hears of them. */
import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { DomainSettings } from '../../src/core/names/redirects.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type Service, startService } from '../support/service.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const www = 'docs.shop.test';
const old = 'old.shop.test';
const closings = closeAfterEach();

/** A project whose two domains are live. */
async function publishTwo({ world, client }: Service): Promise<string> {
  const { record } = await client.addDomain();
  const projectPath = client.domainPath.replace(/\/domains\/.*$/, '');
  const added = await client.call('POST', `${projectPath}/domains`, { hostname: old });
  const second = (added.body as { record: { value: string } }).record;
  await world.publish([`docs CNAME ${record.value}.`, `old CNAME ${second.value}.`]);
  await until('both live', async () => {
    const { body } = await client.call('GET', `${projectPath}/domains`);
    return (body as { status: string }[]).every(({ status }) => status === 'live');
  });
  return projectPath;
}

describe.each(storagesOfRun())('on $name', ({ name, available }) => {
  it.skipIf(!available)(
    'redirects count as soon as the edge has heard of them, and end so',
    async () => {
      const { storage, close } = await freshStorage(name);
      closings.push(close);
      const service = await startService({ storage, ca: 'local authority' });
      closings.push(service.close);
      const { world, client, signpost } = service;
      const projectPath = await publishTwo(service);
      const ca = await world.rootCertificates(signpost.parts.rootCertificate);

      async function set(domains: DomainSettings): Promise<void> {
        const { status } = await client.call('PUT', `${projectPath}/domain-settings`, { domains });
        expect(status).toBe(200);
      }
      async function visit(hostname: string) {
        const port = world.edgeHttpsPort;
        const options = {
          host: '127.0.0.1',
          port,
          servername: hostname,
          ca,
          agent: false,
        } as const;
        const asked = request({ ...options, path: '/a?b=c', headers: { host: hostname } });
        const [answer] = await once(asked.end(), 'response');
        return { status: answer.statusCode, to: answer.headers.location, body: await text(answer) };
      }

      const greeting = 'Hello from the project’s deploy.\n';
      expect(await visit(old)).toMatchObject({ status: 200, body: greeting });

      /** Visits until it is answered so. */
      const answers = (status: number) =>
        until(`${status}`, async () => (await visit(old)).status === status);

      await set({ primary: www, redirects: [{ from: old, to: www, status: 302 }] });
      await answers(302);
      const to = `https://${www}:${world.edgeHttpsPort}/a?b=c`;
      expect(await visit(old)).toEqual({ status: 302, to, body: '' });
      expect(await visit(www)).toMatchObject({ status: 200, body: greeting });
      expect(await signpost.parts.lookups.findRoute(www)).toMatchObject({
        primary: www,
        redirect: null,
      });

      await set({ primary: www, redirects: [{ from: old, to: www, status: 308 }] });
      await answers(308);
      expect(await visit(old)).toMatchObject({ status: 308, to });

      await set({ primary: null, redirects: [] });
      await answers(200);
      expect(await visit(old)).toMatchObject({ status: 200, body: greeting });
      expect(await signpost.parts.lookups.findRoute(www)).toMatchObject({ primary: null });
    },
    180_000,
  );
});
