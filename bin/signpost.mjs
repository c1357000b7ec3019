#!/usr/bin/env node
/**
 * `signpost`, from a checkout that may not be compiled yet: npm links commands when it installs, and only those that are
 * there. Node's own modules only. Nothing but the command itself writes to standard output.
 */
import { existsSync } from 'node:fs';

const program = new URL('../dist/src/cli/main.js', import.meta.url);

if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write(
    'signpost: not compiled yet; run `node scripts/setup.mjs` (or `npm start`) in its folder first\n',
  );
  process.exitCode = 2;
}
