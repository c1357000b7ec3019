/**
 * Ends test processes that would never end: no timeout stops a loop that does not yield, and Vitest waits without limit for
 * a process to say that its file is finished. Prints which files and tests were running, and where each process was. Vitest
 * then fails their files and goes on with the rest.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { url as debuggerUrl } from 'node:inspector';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter } from 'vitest/node';

/** Without any event, and in addition to the timeout of a running test: longer than loading a file and its hooks. */
const QUIET_MS = 10 * 60_000;
/** For a process to end its children. A blocked process cannot. */
const GRACE_MS = 2_000;

export type StuckRun = {
  readonly reporter: Reporter;
  readonly ended: () => EndedProcesses;
  /** Test files that did not end in this run. */
  readonly unfinished: () => string[];
};
/** How many, in this run. Blocked ones did not react to SIGTERM. */
export type EndedProcesses = { readonly waiting: number; readonly blocked: number };

/** Once per process of Vitest. */
export function watchForStuckRun(quietMs = QUIET_MS): StuckRun {
  const processes = watchProcesses();
  const files = new Set<string>();
  const running = new Map<string, number>();
  let ended = { waiting: 0, blocked: 0 };
  let timer: NodeJS.Timeout | undefined;
  let isDebugged = false;

  async function endStuck(): Promise<void> {
    const stuck = [...processes].filter(isTestProcess);
    print(`\nStuck: nothing ended for ${quietMs / 1_000} seconds. Still running:`);
    for (const name of running.keys()) print(`  ${name}`);
    running.clear();
    if (stuck.length === 0) process.exit(1); // nothing is left that Vitest could wait for
    for (const child of stuck) {
      print(`Ending process ${child.pid}. It was here:\n${await placeOf(child)}`);
      ended.waiting += 1;
      child.kill('SIGTERM');
      await delay(GRACE_MS);
      if (!isAlive(child)) continue;
      ended.waiting -= 1;
      ended.blocked += 1;
      child.kill('SIGKILL');
    }
    restart();
  }

  function restart(): void {
    clearTimeout(timer);
    if (isDebugged) return; // a person may wait at a breakpoint
    const allowedMs = Math.max(0, ...running.values());
    timer = setTimeout(() => void endStuck(), quietMs + allowedMs).unref();
  }

  function began(name: string, timeoutMs = 0): void {
    running.set(name, timeoutMs);
    restart();
  }

  function finished(name: string): void {
    running.delete(name);
    restart();
  }

  return {
    ended: () => ended,
    unfinished: () => [...files],
    reporter: {
      onInit({ config }) {
        isDebugged = config.inspector.enabled === true || debuggerUrl() !== undefined;
      },
      onTestRunStart(specifications) {
        ended = { waiting: 0, blocked: 0 };
        files.clear();
        running.clear();
        for (const { moduleId } of specifications) files.add(moduleId);
        restart();
      },
      onTestModuleQueued: ({ moduleId }) => began(shown(moduleId)),
      onTestModuleEnd({ moduleId }) {
        files.delete(moduleId);
        finished(shown(moduleId));
      },
      onTestCaseReady: ({ module, fullName, options }) =>
        began(`${shown(module.moduleId)}: ${fullName}`, options.timeout),
      onTestCaseResult: ({ module, fullName }) =>
        finished(`${shown(module.moduleId)}: ${fullName}`),
      onTestRunEnd: () => clearTimeout(timer),
    },
  };
}

/** All that this process starts from now on. */
function watchProcesses(): ReadonlySet<ChildProcess> {
  const processes = new Set<ChildProcess>();
  subscribe('child_process', (message) => {
    processes.add((message as { readonly process: ChildProcess }).process);
  });
  return processes;
}

/** Only test processes have a channel to Vitest. */
function isTestProcess(child: ChildProcess): boolean {
  return child.connected && isAlive(child);
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

const shown = (moduleId: string) => relative(process.cwd(), moduleId);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

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
function placeOf({ pid }: ChildProcess): Promise<string> {
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
