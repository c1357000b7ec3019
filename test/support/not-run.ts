/**
 * Ends the output with what could not be run, and a line of counts. With REQUIRE_ALL=1 a run that left
 * something out has failed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { NOT_RUN_FILE } from './programs.ts';

type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number };

/** Stands behind the default reporter, whose summary comes first. */
export function notRunReporter(): Reporter {
  let folder: string | undefined;
  return {
    onInit() {
      folder = mkdtempSync(join(tmpdir(), 'signpost-not-run-'));
      const file = join(folder, 'list');
      writeFileSync(file, '');
      process.env[NOT_RUN_FILE] = file; // test processes are forked with this environment
    },
    onTestRunEnd(modules, unhandled) {
      const notes = readNotes(process.env[NOT_RUN_FILE]);
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      const counts = count(modules, unhandled.length);
      for (const note of notes) print(`Not run: ${note}`);
      const leftOut = notes.length > 0 || counts.skipped > 0;
      if (leftOut && process.env['REQUIRE_ALL'] === '1') {
        print('REQUIRE_ALL=1: a run that leaves tests out has failed');
        process.exitCode = 1;
      }
      print(`tests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    },
  };
}

function readNotes(file: string | undefined): string[] {
  if (file === undefined) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return [...new Set(lines)].filter((line) => line !== '').sort();
}

/** A file that does not load, and an error outside of every test, count as one failed test each. */
function count(modules: readonly TestModule[], unhandledErrors: number): Counts {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (state: string) => tests.filter((test) => test.result().state === state).length;
  const broken = modules.filter((module) => module.errors().length > 0).length;
  return {
    passed: inState('passed'),
    failed: inState('failed') + broken + unhandledErrors,
    skipped: inState('skipped'),
  };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
