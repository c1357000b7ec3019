/**
 * `node scripts/second-run.mjs <command> [-- <file> …]`: runs the tests by a command, then each test file that failed a second
 * time, alone. Passes if they pass alone, and lists them under "Passed on the second run": such a test depends on the load
 * of the machine and needs a fix. Only `.ci/run` uses it; `npm test` runs everything once.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** With more failed files than this, the change is broken and second runs are pointless. */
const FILES_MAX = 10;

const [whole, chosen] = splitAt(process.argv.slice(2), '--');
const [command, ...args] = whole;
const folder = mkdtempSync(join(tmpdir(), 'signpost-second-run-'));
let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal));

process.exitCode = await main();
rmSync(folder, { recursive: true, force: true });

async function main() {
  const first = await run(...chosen);
  const files = first.report?.files ?? [];
  if (first.code === 0 || first.signal !== null) return first.code;
  if (first.report !== null && isWithoutFailure(first.report)) {
    console.log(
      '\nEvery test passed, but Vitest waited for a process that only waited for Vitest.',
    );
    printCounts(first.report.counts);
    return 0;
  }
  if (files.length === 0) return first.code;
  if (files.length > FILES_MAX) {
    console.log(`\n${files.length} test files failed: too many for a second run.`);
    return first.code;
  }
  const passed = [];
  const failed = [];
  for (const file of files) {
    console.log(`\nSecond run, alone: ${file}`);
    const { code } = await run(file);
    (code === 0 ? passed : failed).push(file);
  }
  print('Passed on the second run (fix what makes them depend on the load):', passed);
  print('Failed twice:', failed);
  const { counts } = first.report;
  const failures = failed.length === 0 ? 0 : counts.failed;
  const passes = counts.passed + counts.failed - failures;
  printCounts({ passed: passes, failed: failures, skipped: counts.skipped });
  return failed.length === 0 ? 0 : 1;
}

/** Only processes that waited for an event had to be ended (test/support/stuck-run.ts), after their files. */
function isWithoutFailure({ files, counts, ended }) {
  const isWhole = files?.length === 0 && counts.failed === 0;
  return isWhole && ended.waiting > 0 && ended.blocked === 0;
}

/** `report` is what test/support/not-run.ts wrote; null if the run ended before its tests. */
async function run(...files) {
  const path = join(folder, `${performance.now()}.json`);
  child = spawn(command, [...args, ...files], {
    stdio: 'inherit',
    env: { ...process.env, FAILED_FILES: path },
  });
  const [code, signal] = await new Promise((resolve) => {
    child.on('error', (error) => resolve([error.message, null]));
    child.on('exit', (...ended) => resolve(ended));
  });
  return { code: typeof code === 'number' ? code : 1, signal, report: read(path) };
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

function splitAt(list, mark) {
  const at = list.indexOf(mark);
  return at === -1 ? [list, []] : [list.slice(0, at), list.slice(at + 1)];
}

function print(heading, files) {
  if (files.length > 0) console.log([`\n${heading}`, ...files].join('\n  '));
}

/** The last line of a run. */
function printCounts({ passed, failed, skipped }) {
  console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);
}
