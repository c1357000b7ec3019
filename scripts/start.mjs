/** `npm start`: setup, then the service, in one process. */
import './setup.mjs';

const POLL_MS = 500;

// A failed setup has printed why.
if (process.exitCode === undefined) {
  endWithParent();
  await import('../dist/src/main.js');
}

/** npm forwards signals to its shell, which exits without forwarding them; the service would keep running. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
  }, POLL_MS).unref();
}
