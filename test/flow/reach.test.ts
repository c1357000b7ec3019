/** `reach=true` through a real service: its own edge behind a real name, an authority, and a status page over HTTPS. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { ReachReport } from '../../src/certificates/reach/reach.ts';
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

/** Speaks as Status.io does. */
async function startStatusPage(status: string, code: number) {
  const { chain, key, root } = await localhostCertificate();
  const body = JSON.stringify({ result: { status_overall: { status, status_code: code } } });
  const server = createServer({ cert: chain, key }, (_, response) => response.end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closings.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP, so it has one
  return { url: `https://localhost:${port}/1.0/status/1`, root };
}

async function start() {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const world = await startWorld({ storage, ca: 'Pebble' });
  closings.push(world.close);
  const page = await startStatusPage('Partial Service Disruption', 400);
  const folder = await mkdtemp(join(tmpdir(), 'signpost-reach-'));
  closings.push(() => rm(folder, { recursive: true }));
  const caFile = join(folder, 'roots.pem');
  await writeFile(caFile, `${await readFile(world.env['ACME_CA_FILE'] ?? '')}\n${page.root}`);
  const env = { ...world.env, ACME_CA_FILE: caFile, ACME_STATUS_URL: page.url };
  const config = loadConfig(env);
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  const signpost = await startSignpost(config.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(10_000));
  return { world, client: createClient(world), page, env };
}

describe.skipIf(lacks('pebble', 'certificates from Pebble'))(
  'what stands between a name and its certificate',
  () => {
    it('is told of an attached name, and of one that is not without saying whose edge answers', async () => {
      const { world, client, page, env } = await start();
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`, `blog CNAME ${record.value}.`]);
      await until('it is live', async () => (await client.domain()).status === 'live');
      const asked = async (path: string) => {
        const { status, body } = await client.call('GET', `/v1/diagnosis/${path}`);
        expect(status).toBe(200);
        return (body as { reach: ReachReport }).reach; // the documented shape
      };

      const { addresses, authorities } = await asked(`${world.hostname}?reach=true`);
      expect(addresses).toMatchObject([
        { scheme: 'http', outcome: 'edge', isProblem: false, answers: [{ status: 200 }] },
        { scheme: 'https', outcome: 'other_answer', isProblem: false, answers: [{ status: 200 }] },
      ]);
      expect(authorities).toMatchObject([
        {
          directoryUrl: world.env['ACME_DIRECTORY_URL'],
          isAnswering: true,
          statusPage: { url: page.url, status: 'Partial Service Disruption', isOperational: false },
          isProblem: true,
        },
      ]);

      // Nobody has it attached: our edge answers 404 for it, as any server could.
      const stranger = await asked(`blog.${world.zone}?reach=true&target=${record.value}`);
      expect(stranger.addresses).toMatchObject([
        { scheme: 'http', outcome: 'other_answer', isProblem: false, answers: [{ status: 404 }] },
        { scheme: 'https', outcome: 'no_tls', isProblem: false },
      ]);

      const args = ['doctor', world.hostname, '--target', record.value, '--reach'];
      const { code, stdout } = await cli(args, env);
      expect(code).toBe(0);
      expect(stdout).toMatch(/\nWhat the addresses answer\n {2}✓ Port \d+ of 127\.0\.0\.1 answers/);
      expect(stdout).toMatch(/\nCertificate authority\n {2}✗ Its status page says “Partial/);
    });
  },
);
