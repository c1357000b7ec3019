import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const project = fileURLToPath(new URL('fixtures/not-run/', import.meta.url));

/** Runs files of the fixture project with an empty PATH. */
async function runFixture(files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [vitest, 'run', ...files], {
    cwd: project,
    env: { PATH: '', NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 80_000, // takes seconds on an idle machine
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const lines = output.trimEnd().split('\n');
  return {
    code,
    lines,
    summary: lines.slice(lines.findIndex((line) => line.includes('Duration'))),
  };
}

const requireAll = { REQUIRE_ALL: '1' };
const notRun = [
  'Not run: certificates from Pebble — pebble is not installed (Debian: pebble)',
  'Not run: flows on Redis — redis-server is not installed (Debian: redis-server)',
];
const failed = 'REQUIRE_ALL=1: a run that leaves tests out has failed';

describe('A test run without Redis and Pebble', () => {
  it('lists skipped tests at its end, once each and with the reason, and succeeds', async () => {
    const { code, summary } = await runFixture(['without-programs', 'whole']);
    expect(summary.slice(2)).toEqual([...notRun, 'tests: 2 passed, 0 failed, 2 skipped']);
    expect(code).toBe(0);
  });

  it('fails with REQUIRE_ALL=1', async () => {
    const { code, summary } = await runFixture(['without-programs', 'whole'], requireAll);
    expect(summary.slice(2)).toEqual([...notRun, failed, 'tests: 2 passed, 0 failed, 2 skipped']);
    expect(code).toBe(1);
  });
});

describe('With REQUIRE_ALL=1', () => {
  it('a complete run succeeds', async () => {
    const { code, summary } = await runFixture(['whole'], requireAll);
    expect([code, ...summary.slice(2)]).toEqual([0, 'tests: 1 passed, 0 failed, 0 skipped']);
  });

  it('a test skipped without a reason fails the run, too', async () => {
    const { code, summary } = await runFixture(['skipped-quietly'], requireAll);
    expect([code, ...summary.slice(2)]).toEqual([
      1,
      failed,
      'tests: 0 passed, 0 failed, 1 skipped',
    ]);
  });
});

it('a failing test and a file that does not load count as failed', async () => {
  const { code, lines } = await runFixture(['fails', 'does-not-load']);
  expect([code, lines.at(-1)]).toEqual([1, 'tests: 0 passed, 2 failed, 0 skipped']);
});
