/**
 * Ends a run that would not end: a test that blocks its process has no timeout, and Vitest waits without limit for a
 * process to say that a file is finished. Prints which files and tests had not ended and where each process was, then kills
 * those processes. Vitest fails their files and goes on with the rest.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter } from 'vitest/node';
import { isLongRun } from './run.ts';

/** Longer than the longest test, which reports nothing before its end. */
const QUIET_MS = (isLongRun ? 120 : 10) * 60_000;
/** For a process to end what it started, which one that is blocked cannot. */
const GRACE_MS = 2_000;
const DEBUGGER_MS = 15_000;

export type StuckRun = {
  readonly reporter: Reporter;
  /** Processes killed in this run. */
  readonly killed: () => number;
  /** Test files that did not end in this run. */
  readonly unfinished: () => string[];
};

/** Once per process of Vitest. */
export function watchForStuckRun(quietMs = QUIET_MS): StuckRun {
  const processes = watchProcesses();
  const waiting = new Set<string>();
  const underWay = new Set<string>();
  let killed = 0;
  let timer: NodeJS.Timeout | undefined;
  let isDebugged = false;

  async function end(): Promise<void> {
    const running = [...processes].filter(isTestProcess);
    print(`\nStuck: nothing ended for ${quietMs / 1_000} seconds. Not ended:`);
    for (const name of underWay) print(`  ${name}`);
    // One after the other, because the inspector's port is always the same.
    for (const child of running) {
      print(`Process ${child.pid}, which is killed now, was here:\n${await placeOf(child)}`);
      if (child.kill('SIGTERM')) killed += 1;
      await delay(GRACE_MS);
      child.kill('SIGKILL'); // nothing happens if it has ended
    }
  }

  function restart(): void {
    clearTimeout(timer);
    if (!isDebugged) timer = setTimeout(() => void end(), quietMs).unref();
  }

  const began = (name: string) => {
    underWay.add(name);
    restart();
  };
  const ended = (name: string) => {
    underWay.delete(name);
    restart();
  };
  return {
    killed: () => killed,
    unfinished: () => [...waiting],
    reporter: {
      onInit({ config }) {
        isDebugged = config.inspector.enabled === true; // a person may wait at a breakpoint
      },
      onTestRunStart(specifications) {
        killed = 0;
        waiting.clear();
        underWay.clear();
        for (const { moduleId } of specifications) waiting.add(moduleId);
        restart();
      },
      onTestModuleQueued: ({ moduleId }) => began(shown(moduleId)),
      onTestModuleEnd({ moduleId }) {
        waiting.delete(moduleId);
        ended(shown(moduleId));
      },
      onTestCaseReady: ({ module, fullName }) => began(`${shown(module.moduleId)}: ${fullName}`),
      onTestCaseResult: ({ module, fullName }) => ended(`${shown(module.moduleId)}: ${fullName}`),
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
function isTestProcess({ connected, exitCode, signalCode }: ChildProcess): boolean {
  return connected && exitCode === null && signalCode === null;
}

/** What the debugger has to show before the next command, and the command. */
const debuggerSteps: readonly (readonly [shown: RegExp, command: string])[] = [
  [/debug> /, 'pause'],
  [/break in /, 'bt'],
  [/#0 /, '.exit'],
];

/**
 * The stack of a process that runs JavaScript; no stack if it waits for an event, and no connection of the debugger if it
 * waits in a system call.
 */
function placeOf({ pid }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    const { stdin, stdout } = execFile(
      process.execPath,
      ['inspect', '-p', String(pid)],
      { timeout: DEBUGGER_MS, killSignal: 'SIGKILL' },
      (_error, all) => resolve(stripVTControlCharacters(all).trim()),
    );
    const steps = debuggerSteps.values();
    let [output, step] = ['', steps.next()];
    stdin?.on('error', () => undefined); // it could not connect
    stdout?.on('data', (text) => {
      output += text;
      for (; !step.done && step.value[0].test(output); step = steps.next()) {
        stdin?.write(`${step.value[1]}\n`);
      }
    });
  });
}

const shown = (moduleId: string) => relative(process.cwd(), moduleId);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
