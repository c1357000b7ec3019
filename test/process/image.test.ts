/** Without Docker: runs the program with only the files that the Dockerfile copies. */
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { anyPorts, readyLine, storageOf } from './support.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const closings = closeAfterEach();

/** The files that the last stage copies from the build stage. */
async function copied(): Promise<readonly string[]> {
  const text = await readFile(join(checkout, 'Dockerfile'), 'utf8');
  return [...text.matchAll(/^COPY --from=build \/app\/(\S+) /gm)].map(([, path = '']) => path);
}

it('The image contains every file that the program reads, including the dashboard’s style', async () => {
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

  const url = readyLine(running)['dashboard'] ?? '';
  const page = await fetch(url);
  expect(page.status).toBe(200);
  const assets = [...(await page.text()).matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)];
  expect(assets.length).toBeGreaterThan(1);
  for (const [, path] of assets) expect((await fetch(new URL(path ?? '', url))).status).toBe(200);
});
