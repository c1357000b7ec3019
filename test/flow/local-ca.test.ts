/** On a laptop: the root is exported, and the check visits the port that the edge listens on. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { signpost } from '../cli/cli.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

it('A client that trusts the exported root needs no flag, and nothing is reported as not served', async () => {
  const { storage, close } = await freshStorage('embedded');
  closings.push(close);
  const env = { PUBLIC_HTTPS_PORT: '' };
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  const { client, world } = service;
  const cli = { SIGNPOST_API_KEY: world.apiKey, SIGNPOST_URL: world.apiUrl };
  expect(await signpost(['ca'], cli)).toMatchObject({ code: 2, stdout: '' });

  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`]);
  const { browser } = await until('a served-certificate check', async () => {
    const { certificate } = await client.domain();
    return certificate.browser.shown && certificate;
  });
  expect(browser).toMatchObject({ state: 'served', shown: { addresses: [{ outcome: 'ours' }] } });

  const { code, stdout, stderr } = await signpost(['ca'], cli);
  expect([code, stderr]).toEqual([0, expect.stringContaining('SHA-256 ')]);
  const folder = await mkdtemp(join(tmpdir(), 'signpost-ca-'));
  closings.push(() => rm(folder, { recursive: true }));
  const root = join(folder, 'root.pem');
  await writeFile(root, stdout);
  const { hostname, edgeHttpsPort } = world;
  const place = `${hostname}:${edgeHttpsPort}`;
  const args = ['-sS', '--cacert', root, '--resolve', `${place}:127.0.0.1`, '-o', '/dev/null'];
  const show = ['-w', '%{ssl_verify_result}', `https://${place}/`];
  expect((await promisify(execFile)('curl', [...args, ...show])).stdout).toBe('0');
}, 180_000);
