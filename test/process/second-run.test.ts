import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const command = [path('../../node_modules/vitest/vitest.mjs'), 'run'];

async function runTwice(files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = path('../../scripts/second-run.mjs');
  const child = spawn(process.execPath, [script, process.execPath, ...command, '--', ...files], {
    cwd: path('fixtures/not-run/'),
    env: { PATH: '', NO_COLOR: '1', FAILS_ONCE: join(folder, 'exists'), ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const lines = output.trimEnd().split('\n');
  const alone = lines.filter((line) => line.startsWith('Second run, alone: '));
  const start = lines.findIndex((line) => /^(Passed on the second run|Failed twice)/.test(line));
  return { code, output, alone, summary: start === -1 ? [] : lines.slice(start) };
}

const passedHeading = 'Passed on the second run (fix what makes them depend on the load):';

describe('CI with scripts/second-run.mjs', () => {
  it('passes when a failed test file passes alone, and lists it', async () => {
    const { code, summary } = await runTwice(['whole', 'recovers']);
    expect([code, ...summary]).toEqual([
      0,
      passedHeading,
      '  recovers.fixture.ts',
      'tests: 2 passed, 0 failed, 0 skipped',
    ]);
  });

  it('fails when a test file fails twice, and names it', async () => {
    const { code, alone, summary } = await runTwice(['recovers', 'does-not-load', 'rejects']);
    const failed = ['does-not-load', 'recovers', 'rejects'].map((name) => `${name}.fixture.ts`);
    expect(alone).toEqual(failed.map((file) => `Second run, alone: ${file}`));
    expect([code, ...summary]).toEqual([
      1,
      passedHeading,
      '  recovers.fixture.ts',
      '',
      'Failed twice:',
      '  does-not-load.fixture.ts',
      '  rejects.fixture.ts',
      'tests: 1 passed, 3 failed, 0 skipped',
    ]);
  });

  it('does not repeat anything when everything passes', async () => {
    const { code, alone } = await runTwice(['whole']);
    expect([code, ...alone]).toEqual([0]);
  });

  describe('when a process does not end', () => {
    // Longer than any process needs to start on a busy machine.
    const quiet = { QUIET_MS: '20000' };

    it('says where it was, and repeats its test file', async () => {
      const { code, output, alone, summary } = await runTwice(['blocks', 'whole'], quiet);
      expect(output).toMatch(
        /^Stuck: nothing ended for 20 seconds\. Still running:\n {2}blocks\.fixture\.ts/m,
      );
      expect(output).toMatch(/#0 spin blocks\.fixture\.ts:/);
      expect(alone).toEqual(['Second run, alone: blocks.fixture.ts']);
      expect([code, ...summary]).toEqual([
        0,
        passedHeading,
        '  blocks.fixture.ts',
        'tests: 2 passed, 0 failed, 0 skipped',
      ]);
    });

    it('passes when every test has passed', async () => {
      const { code, output, alone } = await runTwice(['says-no-end', 'whole'], quiet);
      expect(output).toMatch(
        /^Stuck: nothing ended for 20 seconds\. Still running:\nEnding process \d+/m,
      );
      expect(output).toMatch(/tests: 2 passed, 0 failed, 0 skipped\n$/);
      expect([code, ...alone]).toEqual([0]);
    });

    it('fails when a loop blocks it after its tests', async () => {
      const { code, output } = await runTwice(['loops-at-end', 'whole'], quiet);
      expect(output).toMatch(/tests: 2 passed, 0 failed, 0 skipped\n$/);
      expect(code).toBe(1);
    });
  });

  it('fails at once when REQUIRE_ALL=1 forbids skipped tests', async () => {
    const { code, alone } = await runTwice(['skipped-quietly', 'recovers'], { REQUIRE_ALL: '1' });
    expect([code, ...alone]).toEqual([1]);
  });
});
