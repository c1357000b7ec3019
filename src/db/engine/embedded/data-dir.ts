/** The folder of embedded storage: the database and the key that opens its secrets lie in it, so it is its owner's alone. */
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';

const OWNER_ALONE = 0o700;
const OTHERS = 0o077;
/** What Signpost itself puts there, drafts included. */
const ours = /^(?:postgres|signpost\.lock|key-encryption-key)(?:\.|$)/;

/**
 * Makes the folder with the mode 0700 where there is none, and gives one that is wider this mode, as earlier versions made
 * it. Rejects, with what to do, where a wider one has files of others in it (it may be /tmp, or a home), and where the file
 * system keeps no modes. On Windows, which has none, it only makes the folder.
 */
export async function openDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: OWNER_ALONE });
  if (!(await isOpenToOthers(dataDir))) return;
  const others = (await readdir(dataDir)).filter((name) => !ours.test(name));
  if (others.length > 0) {
    throw new Error(
      `DATA_DIR ${dataDir} is open to other users and has more in it than Signpost’s files: give it a folder of its own, or chmod 700`,
    );
  }
  await chmod(dataDir, OWNER_ALONE);
  if (await isOpenToOthers(dataDir)) {
    throw new Error(
      `DATA_DIR ${dataDir} is open to other users, and its file system keeps no modes: choose one that does`,
    );
  }
}

async function isOpenToOthers(dataDir: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  return ((await stat(dataDir)).mode & OTHERS) !== 0;
}
