/** A small RAM disk that can be filled up; needs the right to mount. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const LAST_BYTES = 8_000_000;

export type RamDisk = {
  readonly path: string;
  fill(): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
};

/** Null if this user may not mount. */
export async function mountRamDisk(megabytes: number): Promise<RamDisk | null> {
  const path = await mkdtemp(join(tmpdir(), 'signpost-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path]);
  } catch {
    await rm(path, { recursive: true });
    return null;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    async fill() {
      const { bavail, bsize } = await statfs(path);
      const most = Number(bavail) * Number(bsize) - LAST_BYTES;
      await run('fallocate', ['-l', String(Math.max(1, most)), ballast]);
      // Repeats until no room is left, because others write, too.
      await run('dd', [
        'if=/dev/zero',
        `of=${ballast}`,
        'bs=4k',
        'oflag=append',
        'conv=notrunc',
      ]).catch(() => undefined);
    },
    empty: () => rm(ballast, { force: true }),
    async close() {
      await run('umount', [path]).catch(() => run('umount', ['-l', path]));
      await rm(path, { recursive: true });
    },
  };
}
