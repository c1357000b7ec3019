#!/usr/bin/env node
/**
 * The command line: `signpost <command>`. Ends with 0; with 1 where it failed, or the answer is no; with 2 where it was not
 * understood, or the answer could not be found out.
 */
import { existsSync, readFileSync } from 'node:fs';
import { printable } from '../core/printable.ts';
import { type Command, done, type Io, listing, type Outcome, wrongUsage } from './command.ts';

/** Each is loaded when it is asked for: the demo brings the whole service with it. */
const commands: Readonly<Record<string, Command>> = {
  demo: {
    synopsis: '',
    summary: 'a customer’s domain goes live on this machine, with the classic mistakes on the way',
    async run(_args, { out }) {
      const { runDemo } = await import('./demo/demo.ts');
      // A person reads along; a pipe does not.
      await runDemo((line) => out(`${line}\n`), process.stdout.isTTY ? 2_000 : 0);
      return done;
    },
  },
  doctor: {
    synopsis: '<hostname> [--target <host>]',
    summary: 'look at the DNS of a host name: what every server shows, what is wrong, what to do',
    async run(args, io) {
      readEnvFile();
      const { runDoctor } = await import('./doctor/doctor.ts');
      return runDoctor(args, io);
    },
  },
  keys: {
    synopsis: '<command>',
    summary: 'list, make, rotate and revoke the API keys of a running service',
    async run(args, io) {
      readEnvFile();
      const { runKeys } = await import('./keys/keys.ts');
      return runKeys(args, io);
    },
  },
  help: {
    synopsis: '[<command>]',
    summary: 'this text; `signpost help doctor` and `signpost help keys` say more',
    async run([name = ''], io) {
      const command = commandNamed(name);
      if (command !== undefined && talkative.has(name)) return command.run(['help'], io);
      io.out(usage());
      return done;
    },
  },
};

/** Those that have more to say than their line in the list. */
const talkative: ReadonlySet<string> = new Set(['doctor', 'keys']);

function commandNamed(name: string): Command | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}

/** As the service does, for its API_KEY and its DNS servers. */
function readEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}

function usage(): string {
  return `Usage: signpost <command>\n\n${listing('', commands)}`;
}

/** As package.json has it; it stands beside `dist`, in a container too. */
function version(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const parsed: { readonly version: string } = JSON.parse(text);
  return parsed.version;
}

async function run([name = '', ...args]: readonly string[], io: Io): Promise<Outcome> {
  if (name === '--version' || name === '-v') {
    io.out(`${version()}\n`);
    return done;
  }
  const command = commandNamed(['--help', '-h'].includes(name) ? 'help' : name);
  if (command !== undefined) return command.run(args, io);
  io.err(usage());
  return wrongUsage(
    name === '' ? 'which command?' : `there is no command ${printable(name, NAME_LENGTH_MAX)}`,
  );
}

const NAME_LENGTH_MAX = 50;

const exitCodes: Readonly<Record<Outcome['kind'], number>> = {
  done: 0,
  negative: 1,
  failed: 1,
  undecided: 2,
  wrong_usage: 2,
};

/** A fault of ours. The doctor's 1 is a word about the domain, which a fault must not say. */
const FAULT_CODE = process.argv[2] === 'doctor' ? 2 : 1;

/** Says what broke in one line, without a stack, and sees to it that nobody takes it for an answer. */
function broken(fault: unknown): void {
  // Whoever read along has gone, as `| head` does: there is nobody to tell.
  const isGone = fault instanceof Error && 'code' in fault && fault.code === 'EPIPE';
  if (!isGone) io.err(`signpost: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = FAULT_CODE;
}

const io: Io = {
  env: process.env,
  now: () => new Date(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  screen: {
    out: process.stdout.isTTY === true,
    err: process.stderr.isTTY === true,
    columns: process.stdout.columns || 80, // a screen that does not know says 0
  },
};

// What cannot be written (a full disk, a closed pipe) is told after the command has ended.
process.stdout.on('error', broken);
process.stderr.on('error', () => {});
process.on('uncaughtException', (fault) => {
  broken(fault);
  process.exit();
});
try {
  const outcome = await run(process.argv.slice(2), io);
  if ('problem' in outcome) io.err(`signpost: ${outcome.problem}\n`);
  process.exitCode ??= exitCodes[outcome.kind];
} catch (fault) {
  broken(fault);
}
