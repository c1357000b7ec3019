import { defineConfig } from 'vitest/config';
import { notRunReporter } from './test/support/not-run.ts';
import { isLongRun, longFiles } from './test/support/run.ts';
import { watchForStuckRun } from './test/support/stuck-run.ts';
import { v8Options } from './test/support/v8-options.ts';

const stuck = watchForStuckRun();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: isLongRun
      ? []
      : longFiles.filter(
          (file) => !process.argv.some((one) => one.startsWith('test/') && file.startsWith(one)),
        ),
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: [
      'test/support/end-with-the-runner.ts',
      ...(process.env['TEST_COSTS'] ? ['test/support/costs.ts'] : []),
    ],
    reporters: ['default', stuck.reporter, notRunReporter(stuck)],
    // Processes, not threads: tests kill, and what they start is theirs alone.
    pool: 'forks',
    execArgv: [...v8Options],
    // Modules are loaded once a process, not once a file: a second of work for each file of test/http. So no test may
    // change a module for good; spies are restored by Vitest after each file.
    isolate: false,
    maxWorkers: 6, // most wait for a clock, a socket or another process
    maxConcurrency: 3, // of one file's concurrent tests: each is a service of its own
    testTimeout: 180_000, // of a machine that is busy: no test waits for it
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
