/**
 * `npm test` and `npm run test:long`: sets up what is missing, then runs Vitest with the arguments that follow. Whatever ends
 * this process ends Vitest too, and what its tests left in the folder for temporary files is removed.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where Linux keeps files in memory. Tests make and remove thousands of database files: on a disk's file system that is a
 * quarter of all the processor's time.
 */
const MEMORY = '/dev/shm';
/** Several times the measured need of a run. A container's default of 64 MB is too small. */
const ROOM_BYTES = 6 * 1024 ** 3;

/** Time for Vitest to end what its tests have started. */
const GRACE_MS = 10_000;

await import('./setup.mjs');
if (process.exitCode === undefined) await runVitest();

async function runVitest() {
  const [isLong, args] =
    process.argv[2] === '--long' ? [true, process.argv.slice(3)] : [false, process.argv.slice(2)];
  const folder = mkdtempSync(join(temporaryFiles(), 'signpost-test-'));
  chmodSync(folder, 0o755); // PostgreSQL runs as another user
  const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      SIGNPOST_SETUP: 'done',
      TMPDIR: folder,
      ...(isLong && { TEST_LONG: '1' }),
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      child.kill(signal);
      setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
    });
  }
  process.exitCode = await new Promise((resolve) => {
    child.on('exit', (code) => resolve(code ?? 1));
  });
  rmSync(folder, { recursive: true, force: true });
}

function temporaryFiles() {
  if (process.env.TMPDIR !== undefined) return tmpdir(); // already chosen
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
