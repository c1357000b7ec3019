/**
 * Vitest setup file: a test process ends what it has started when its runner goes away or somebody ends it by a signal.
 * Neither runs the listeners of `exit` by itself, and Vitest replaces `process.exit` by an error.
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
