/**
 * Ends the output with the tests that could not run and a line of counts. With REQUIRE_ALL=1, tests left out fail the
 * run. FAILED_FILES=<path> also writes which test files failed, for scripts/second-run.mjs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { NOT_RUN_FILE } from './programs.ts';
import type { EndedProcesses, StuckRun } from './stuck-run.ts';

type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number };
type Results = {
  readonly modules: readonly TestModule[];
  readonly unhandled: readonly SerializedError[];
  /** Files whose process had to be ended. */
  readonly unfinished: readonly string[];
};
type Report = {
  readonly files: string[] | null;
  readonly counts: Counts;
  readonly ended: EndedProcesses;
};

/** Runs after the default reporter's summary. */
export function notRunReporter(stuck: StuckRun): Reporter {
  let folder: string | undefined;
  return {
    onInit() {
      folder = mkdtempSync(join(tmpdir(), 'signpost-not-run-'));
      const file = join(folder, 'list');
      writeFileSync(file, '');
      process.env[NOT_RUN_FILE] = file; // test processes inherit this environment
    },
    onTestRunEnd(modules, errors) {
      const results = { modules, ...withoutEnded(errors, stuck) };
      const notes = readNotes(process.env[NOT_RUN_FILE]);
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      const counts = count(results);
      for (const note of notes) print(`Not run: ${note}`);
      const leftOut = notes.length > 0 || counts.skipped > 0;
      const isIncomplete = leftOut && process.env['REQUIRE_ALL'] === '1';
      if (isIncomplete) {
        print('REQUIRE_ALL=1: a run that leaves tests out has failed');
        process.exitCode = 1;
      }
      const files = isIncomplete ? null : failedFiles(results);
      writeReport({ files, counts, ended: stuck.ended() });
      print(`tests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    },
  };
}

function readNotes(file: string | undefined): string[] {
  if (file === undefined) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return [...new Set(lines)].filter((line) => line !== '').sort();
}

/** Vitest's error for a process that was ended names no file, so the files replace the errors. */
function withoutEnded(errors: readonly SerializedError[], stuck: StuckRun) {
  const { waiting, blocked } = stuck.ended();
  let left = waiting + blocked;
  const unfinished = left === 0 ? [] : stuck.unfinished();
  const unhandled = errors.filter(({ message }) => {
    const isForEnded = left > 0 && `${message}`.startsWith('[vitest-pool]');
    if (isForEnded) left -= 1;
    return !isForEnded;
  });
  return { unhandled, unfinished };
}

/** A file that does not load or does not end and an error outside of tests count as one failed test each. */
function count({ modules, unhandled, unfinished }: Results): Counts {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (state: string) => tests.filter((test) => test.result().state === state).length;
  const broken = modules.filter((module) => module.errors().length > 0).length;
  return {
    passed: inState('passed'),
    failed: inState('failed') + broken + unhandled.length + unfinished.length,
    skipped: inState('skipped'),
  };
}

function writeReport(report: Report): void {
  const path = process.env['FAILED_FILES'];
  if (path) writeFileSync(path, JSON.stringify(report));
}

/** Relative paths; null if an error belongs to no file, which a second run cannot clear. */
function failedFiles({ modules, unhandled, unfinished }: Results): string[] | null {
  const failed = modules
    .filter((module) => module.state() === 'failed')
    .map(({ moduleId }) => moduleId);
  const blamed = unhandled.map((error): unknown => error['VITEST_TEST_PATH']);
  if (!blamed.every((path) => typeof path === 'string')) return null;
  const paths = new Set([...failed, ...blamed, ...unfinished]);
  return [...paths].map((path) => relative(process.cwd(), path)).sort();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
