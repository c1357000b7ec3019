#!/usr/bin/env node
/** The process around signpost.ts: environment, outputs and exit code. */
import { existsSync } from 'node:fs';
import type { Io } from './command.ts';
import { runSignpost, sayFault } from './signpost.ts';

const args = process.argv.slice(2);

const io: Io = {
  env: process.env,
  // Like the service, for API_KEY, DNS servers and the platform's name.
  readEnvFile() {
    if (existsSync('.env')) process.loadEnvFile('.env');
  },
  now: () => new Date(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  screen: {
    out: process.stdout.isTTY === true,
    err: process.stderr.isTTY === true,
    columns: process.stdout.columns || 80, // some terminals report 0
  },
  interruptions: {
    once: (listener) => void process.once('SIGINT', listener),
    off: (listener) => void process.off('SIGINT', listener),
    end: () => void process.kill(process.pid, 'SIGINT'),
  },
};

function broken(fault: unknown): void {
  process.exitCode = sayFault(fault, args, io);
}

// Write errors (full disk, closed pipe) are reported after the command ends.
process.stdout.on('error', broken);
process.stderr.on('error', () => {});
process.on('uncaughtException', (fault) => {
  broken(fault);
  process.exit();
});
const code = await runSignpost(args, io);
process.exitCode ??= code;
