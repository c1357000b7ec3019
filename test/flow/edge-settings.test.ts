/** Domain settings at the edge of a real service take effect on notification. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { DomainSettings } from '../../src/core/names/redirects.ts';
import { closeAfterEach } from '../support/closings.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const www = 'docs.shop.test';
const old = 'old.shop.test';
const closings = closeAfterEach();

const greeting = 'Hello from the project’s deploy.\n';

async function publishTwo({ world, client }: RunningService): Promise<string> {
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

/** A service with such a project, its visitors, and the response of its deploy. */
async function startPublished(name: StorageName) {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority' });
  closings.push(service.close);
  const { world, signpost } = service;
  const projectPath = await publishTwo(service);
  const ca = await world.rootCertificates(signpost.service.rootCertificate);

  async function visit(hostname: string) {
    const port = world.edgeHttpsPort;
    const options = { host: '127.0.0.1', port, servername: hostname, ca, agent: false } as const;
    const asked = request({ ...options, path: '/a?b=c', headers: { host: hostname } });
    const [answer] = await once(asked.end(), 'response');
    const { statusCode: status, headers } = answer as IncomingMessage;
    return { status, headers, to: headers.location, body: await text(answer) };
  }
  return { ...service, projectPath, visit };
}

/** An HTTPS deploy with a private CA that responds with the signature headers it received. */
async function startSignedDeploy() {
  const { chain, key, root } = await localhostCertificate();
  const server = createServer({ cert: chain, key }, ({ method, url, headers }, response) => {
    const { host, 'x-forwarded-for': from, 'signpost-signature': signature } = headers;
    response.end(JSON.stringify({ signature, lines: [method, host, url, from] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo; // it listens
  return { upstream: `https://localhost:${port}`, upstreamCa: root };
}

describe.each(storagesOfRun())('on $name', ({ name, available }) => {
  it.skipIf(!available)(
    'redirects take effect and end on notification',
    async () => {
      const { projectPath, client, signpost, world, visit } = await startPublished(name);

      async function set(domains: DomainSettings): Promise<void> {
        const { status } = await client.call('PUT', `${projectPath}/domain-settings`, { domains });
        expect(status).toBe(200);
      }

      expect(await visit(old)).toMatchObject({ status: 200, body: greeting });

      const answers = (status: number) =>
        until(`${status}`, async () => (await visit(old)).status === status);

      await set({ primary: www, redirects: [{ from: old, to: www, status: 302 }] });
      await answers(302);
      const to = `https://${www}:${world.edgeHttpsPort}/a?b=c`;
      expect(await visit(old)).toMatchObject({ status: 302, to, body: '' });
      expect(await visit(www)).toMatchObject({ status: 200, body: greeting });
      expect(await signpost.service.lookups.findRoute(www)).toMatchObject({
        primary: www,
        redirect: null,
      });

      await set({ primary: www, redirects: [{ from: old, to: www, status: 308 }] });
      await answers(308);
      expect(await visit(old)).toMatchObject({ status: 308, to });

      await set({ primary: null, redirects: [] });
      await answers(200);
      expect(await visit(old)).toMatchObject({ status: 200, body: greeting });
      expect(await signpost.service.lookups.findRoute(www)).toMatchObject({ primary: null });
    },
    180_000,
  );

  it.skipIf(!available)(
    'so do HSTS, the CAs of a deploy and a new secret',
    async () => {
      const { projectPath, client, visit } = await startPublished(name);
      const call = async (method: string, path: string, body?: object) =>
        (await client.call(method, projectPath + path, body)).body;

      const hstsOf = async () => (await visit(www)).headers['strict-transport-security'];
      expect(await hstsOf()).toBeUndefined();
      await call('PUT', `/domains/${www}/hsts`, { maxAge: 300 });
      await until('HSTS', async () => (await hstsOf()) === 'max-age=300');
      await call('DELETE', `/domains/${www}/hsts`);
      await until('no HSTS', async () => (await hstsOf()) === undefined);

      await call('POST', '/deploys', { status: 'succeeded', ...(await startSignedDeploy()) });
      const signed = await until('the next deploy', async () => {
        const { body } = await visit(www);
        return body === greeting ? null : body;
      });
      /** The secrets that signed the response, in their order. */
      const signersOf = (body: string, secrets: readonly string[]) => {
        const { signature, lines } = JSON.parse(body);
        const [t, ...signatures] = signature.split(',');
        const content = [t.slice(2), ...lines].join('\n');
        return signatures.map((one: string) =>
          secrets.findIndex((secret) => {
            const key = Buffer.from(secret.slice('sigsec_'.length), 'base64');
            return one === `v1=${createHmac('sha256', key).update(content).digest('hex')}`;
          }),
        );
      };
      const { secret: first } = (await call('GET', '/signing-secret')) as { secret: string };
      expect(signersOf(signed, [first])).toEqual([0]);
      const rotated = await call('POST', '/signing-secret/rotate');
      const { secret: second } = rotated as { secret: string };
      const twice = await until('two signatures', async () => {
        const { body } = await visit(www);
        return body.includes(',v1=', body.indexOf('v1=')) ? body : null;
      });
      expect(signersOf(twice, [first, second])).toEqual([1, 0]);
    },
    180_000,
  );
});
