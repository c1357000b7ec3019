/** The image, as far as it goes without Docker: the program runs with nothing but what the Dockerfile copies into it. */
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { anyPorts, storageOf } from './support.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const closings = closeAfterEach();

/** What the last stage takes from the one that builds. */
async function copied(): Promise<readonly string[]> {
  const text = await readFile(join(checkout, 'Dockerfile'), 'utf8');
  return [...text.matchAll(/^COPY --from=build \/app\/(\S+) /gm)].map(([, path = '']) => path);
}

it('the image has everything that the program reads, the dashboard’s style among it', async () => {
  const root = await mkdtemp(join(tmpdir(), 'signpost-image-'));
  closings.push(() => rm(root, { recursive: true, force: true }));
  for (const path of await copied()) {
    const [from, to] = [join(checkout, path), join(root, path)];
    await mkdir(dirname(to), { recursive: true });
    if (path === 'node_modules') await symlink(from, to);
    else await cp(from, to, { recursive: true });
  }
  const storage = await storageOf();
  closings.push(storage.close);
  const running = await startProcess({ ...storage.env, ...anyPorts }, `${root}/`);
  closings.push(running.kill);

  const url = /Dashboard +(\S+)/.exec(running.stdout())?.[1] ?? '';
  const page = await fetch(url);
  expect(page.status).toBe(200);
  const assets = [...(await page.text()).matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)];
  expect(assets.length).toBeGreaterThan(1);
  for (const [, path] of assets) expect((await fetch(new URL(path ?? '', url))).status).toBe(200);
});
