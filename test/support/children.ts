/** Child processes of a test process, none of which outlives it, however the run ends. */
import type { ChildProcess } from 'node:child_process';

const children = new Map<ChildProcess, NodeJS.Signals>();

/** Ends `child` with this process, if it runs so long; by SIGTERM where it has children of its own to end. */
export function endWithThisProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (children.size === 0) process.once('exit', killAll);
  children.set(child, signal);
  child.once('exit', () => forget(child));
  child.once('error', () => forget(child)); // it never began
}

function forget(child: ChildProcess): void {
  children.delete(child);
  if (children.size === 0) process.off('exit', killAll);
}

function killAll(): void {
  for (const [child, signal] of children) child.kill(signal);
}
