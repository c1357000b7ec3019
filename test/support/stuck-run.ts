/**
 * Ends test processes that would never end: no timeout stops a loop that does not yield, and Vitest waits without limit for
 * a process to say that its file is finished. Prints which files and tests were running, and where each process was. Vitest
 * then fails their files and goes on with the rest.
 */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { url as debuggerUrl } from 'node:inspector';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Reporter } from 'vitest/node';
import { placeOf } from './process-place.ts';

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
