import { defineConfig } from 'vitest/config';
import { notRunReporter } from './test/support/not-run.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', notRunReporter()],
    // Processes, not threads: tests kill, and what they start is theirs alone.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
