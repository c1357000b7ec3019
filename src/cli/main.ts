#!/usr/bin/env node
/** The command line's process: what a shell gives it, where it writes, and its exit code. signpost.ts is the program. */
import { existsSync } from 'node:fs';
import type { Io } from './command.ts';
import { runSignpost, sayFault } from './signpost.ts';

const args = process.argv.slice(2);

const io: Io = {
  env: process.env,
  // As the service does, for its API_KEY, its DNS servers and the platform's name.
  readEnvFile() {
    if (existsSync('.env')) process.loadEnvFile('.env');
  },
  now: () => new Date(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  screen: {
    out: process.stdout.isTTY === true,
    err: process.stderr.isTTY === true,
    columns: process.stdout.columns || 80, // a screen that does not know says 0
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

// What cannot be written (a full disk, a closed pipe) is told after the command has ended.
process.stdout.on('error', broken);
process.stderr.on('error', () => {});
process.on('uncaughtException', (fault) => {
  broken(fault);
  process.exit();
});
const code = await runSignpost(args, io);
process.exitCode ??= code;
