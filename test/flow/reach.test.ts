/** `reach=true` and `--reach` through a real service, with its edge, Pebble and a status page. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createTransport } from '../../src/certificates/acme/transport.ts';
import {
  knownStatusPage,
  type ReachReport,
  readStatusPage,
} from '../../src/certificates/reach/examine-reach.ts';
import { loadConfig } from '../../src/config/config.ts';
import { startSignpost } from '../../src/start.ts';
import { signpost as cli } from '../cli/cli.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';

const closings = closeAfterEach();

describe.skipIf(lacks('pebble', 'certificates from Pebble'))('What a certificate needs', () => {
  it('is reported for a live name, for any other name, and by the doctor', async () => {
    const { storage, close } = await freshStorage();
    closings.push(close);
    const world = await startWorld({ storage, ca: 'Pebble' });
    closings.push(world.close);
    const config = loadConfig(world.env);
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const signpost = await startSignpost(config.config, pino({ level: 'silent' }));
    closings.push(() => signpost.close(10_000));
    const client = createClient(world);
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`, `blog CNAME ${record.value}.`]);
    await until('it is live', async () => (await client.domain()).status === 'live');
    const get = async (path: string) => {
      const { status, body } = await client.call('GET', `/v1/diagnosis/${path}`);
      expect(status).toBe(200);
      return (body as { reach: ReachReport }).reach; // the documented shape
    };

    const { addresses, authorities } = await get(`${world.hostname}?reach=true`);
    expect(addresses).toMatchObject([
      { scheme: 'http', outcome: 'edge', isProblem: false, answers: [{ status: 200 }] },
      { scheme: 'https', outcome: 'edge', isProblem: false, answers: [{ status: 200 }] },
    ]);
    expect(authorities).toMatchObject([
      { directoryUrl: world.env['ACME_DIRECTORY_URL'], directoryAnswers: true, isProblem: false },
    ]);

    // No project has it, but its record points here already.
    const other = await get(`blog.${world.zone}?reach=true&target=${record.value}`);
    expect(other.addresses).toMatchObject([
      { scheme: 'http', outcome: 'edge', isProblem: false },
      { scheme: 'https', outcome: 'no_tls', isProblem: false },
    ]);

    const args = ['doctor', world.hostname, '--target', record.value, '--reach'];
    const { code, stdout } = await cli(args, world.env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nWhat the addresses answer\n {2}✓ Port \d+ of 127\.0\.0\.1 answers/);
    expect(stdout).toMatch(/\nCertificate authorities\n {2}✓ .* answers\./);
  });
});

describe('The status page of a CA', () => {
  async function pageWith(body: string) {
    const { chain, key, root } = await localhostCertificate();
    const server = createServer({ cert: chain, key }, (_, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closings.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo; // it listens on TCP, so it has one
    const url = `https://localhost:${port}/1.0/status/1`;
    return { url, read: await readStatusPage(createTransport(root), url) };
  }
  const overall = (status: string, code: number) =>
    JSON.stringify({ result: { status_overall: { status, status_code: code } } });

  it('is read', async () => {
    const { url, read } = await pageWith(overall('Partial Service Disruption', 400));
    expect(read).toEqual({ url, status: 'Partial Service Disruption', isOperational: false });
    const { read: fine } = await pageWith(overall('Operational', 100));
    expect(fine).toMatchObject({ isOperational: true });
  });

  it.each(['', '[]', '{"result":{}}', 'not JSON'])('is ignored if it says %j', async (body) => {
    expect((await pageWith(body)).read).toBeNull();
  });

  it('is known of Let’s Encrypt alone', () => {
    expect(knownStatusPage('https://acme-v02.api.letsencrypt.org/directory')).toContain(
      'api.status.io',
    );
    expect(knownStatusPage('https://letsencrypt.org.example.com/directory')).toBeNull();
  });
});
