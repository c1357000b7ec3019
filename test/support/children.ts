/** Child processes that never outlive their test process. */
import type { ChildProcess } from 'node:child_process';

const children = new Map<ChildProcess, NodeJS.Signals>();

/** Ends `child` with this process; by SIGTERM if the child has children. */
export function endWithThisProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (children.size === 0) process.once('exit', killAll);
  children.set(child, signal);
  child.once('exit', () => forget(child));
  child.once('error', () => forget(child)); // it never started
}

function forget(child: ChildProcess): void {
  children.delete(child);
  if (children.size === 0) process.off('exit', killAll);
}

function killAll(): void {
  for (const [child, signal] of children) child.kill(signal);
}
