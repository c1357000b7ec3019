import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openDataDir } from '../../src/db/engine/embedded/data-dir.ts';
import { openEmbedded } from '../../src/db/engine/embedded/stream.ts';
import { closeAfterEach } from '../support/closings.ts';

const closings = closeAfterEach();
let above: string;
let dataDir: string;
beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'signpost-data-'));
  dataDir = join(above, 'deep', 'data');
  closings.push(() => rm(above, { recursive: true, force: true }));
});

const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

async function makeOpen(mode: number): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await chmod(dataDir, mode);
}

describe('the folder of embedded storage', () => {
  it('is made for its owner alone', async () => {
    await openDataDir(dataDir);
    expect(await modeOf(dataDir)).toBe('700');
  });

  it.each([0o755, 0o750, 0o701, 0o777])('is closed to others where it was %o', async (mode) => {
    await makeOpen(mode);
    for (const name of ['signpost.lock', 'key-encryption-key', 'postgres.4711.new']) {
      await writeFile(join(dataDir, name), '');
    }
    await mkdir(join(dataDir, 'postgres'));
    await openDataDir(dataDir);
    expect(await modeOf(dataDir)).toBe('700');
  });

  it('is not closed to others who have files there', async () => {
    await makeOpen(0o1777);
    await writeFile(join(dataDir, 'postgresql.conf'), '');
    await expect(openDataDir(dataDir)).rejects.toThrow('give it a folder of its own');
    expect(await modeOf(dataDir)).toBe('1777');
  });

  it('may have them where nobody else may open it', async () => {
    await makeOpen(0o700);
    await writeFile(join(dataDir, 'notes'), '');
    await openDataDir(dataDir);
    expect(await modeOf(dataDir)).toBe('700');
  });

  it('is closed before a database is made in it', async () => {
    await makeOpen(0o755);
    const database = await openEmbedded(dataDir, () => {});
    await database.close();
    expect(await modeOf(dataDir)).toBe('700');
  });
});
