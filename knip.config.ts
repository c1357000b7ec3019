import { argv } from 'node:process';
import type { KnipConfig } from 'knip';

/**
 * Two runs, both in `npm run lint`. Without an option: every file, export and dependency has a user, tests included. With
 * `--production`: it has one outside tests; an export that only its own file and tests use is allowed.
 */
const config: KnipConfig = {
  workspaces: {
    '.': {
      entry: [
        'src/main.ts!',
        'src/cli/main.ts!',
        'src/db/engine/embedded/{host,make-template}.ts!', // a worker thread; scripts/setup.mjs
        'src/dashboard/browser/*.ts!', // loaded by pages
        'src/http/openapi/page/script.ts!',
        'scripts/*.mjs!',
        'bench/*/*.ts', // started as processes
        'test/**/*.test.ts',
        'test/faults/main.ts',
        'test/faults/signals/main.ts',
        'test/process/fixtures/**/*.ts',
        'test/support/{costs.ts,*.mjs}',
      ],
      project: [
        'src/**/*.ts!',
        'workers/**/*.ts!',
        'scripts/**/*.mjs!',
        'bench/**/*.ts',
        'test/**/*.{ts,mjs}',
      ],
    },
    'packages/client': { entry: ['generate.mjs!'], project: ['src/*.ts!', '*.mjs!'] },
  },
  // Prisma's generated client imports the first; tests start the other two by their paths.
  ignoreDependencies: ['@prisma/client', '@redocly/cli', '@stoplight/prism-cli'],
  ignoreBinaries: ['script', 'openssl', 'ruby'],
  ignoreExportsUsedInFile: argv.includes('--production'),
};

export default config;
