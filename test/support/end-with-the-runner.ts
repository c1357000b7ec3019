/**
 * Vitest setup file: ends started processes when the runner exits or a signal arrives. Neither runs `exit` listeners,
 * and Vitest makes `process.exit` throw.
 */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const installed = Symbol.for('signpost.end-with-the-runner');

// Modules are loaded once a process, setup files once a test file.
if (process.send !== undefined && !Reflect.has(process, installed)) {
  Reflect.set(process, installed, true);
  for (const signal of signals) process.once(signal, endNow);
  process.once('disconnect', endNow);
}

function endNow(): void {
  process.emit('exit', 1);
  process.kill(process.pid, 'SIGKILL');
}
