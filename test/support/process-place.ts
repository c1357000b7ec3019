import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

const TIMEOUT_MS = 15_000;

/** What the debugger has to show before the next command, and the command. */
const steps: readonly (readonly [shown: RegExp, command: string])[] = [
  [/debug> /, 'pause'],
  [/break in /, 'bt'],
  [/#0 /, '.exit'],
];

/**
 * Where a process of Node.js is, as its debugger prints it: the stack if it runs JavaScript, none if it waits for an event,
 * and no connection if it waits in a system call. One process at a time, because the debugger's port is always the same.
 */
export function placeOf({ pid }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    const { stdin, stdout } = execFile(
      process.execPath,
      ['inspect', '-p', String(pid)],
      { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
      (_error, all) => resolve(stripVTControlCharacters(all).trim()),
    );
    const left = steps.values();
    let [output, step] = ['', left.next()];
    stdin?.on('error', () => undefined); // it could not connect
    stdout?.on('data', (text) => {
      output += text;
      for (; !step.done && step.value[0].test(output); step = left.next()) {
        stdin?.write(`${step.value[1]}\n`);
      }
    });
  });
}
