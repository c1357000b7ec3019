/** `npm start`: the set-up and then the service, in one process. */
import './setup.mjs';

const POLL_MS = 500;

// A set-up that failed has said why.
if (process.exitCode === undefined) {
  endWithParent();
  await import('../dist/src/main.js');
}

/** npm passes a signal on to its shell, which ends without passing it on: the service would go on without anybody. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
  }, POLL_MS).unref();
}
