#!/usr/bin/env node
/**
 * The command line: `signpost <command>`. Ends with 0; with 1 where it failed, or the answer is no; with 2 where it was not
 * understood, or the answer could not be found out.
 */
import { existsSync } from 'node:fs';
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
    synopsis: '',
    summary: 'this text; `signpost doctor help` and `signpost keys help` say more',
    async run(_args, { out }) {
      out(usage());
      return done;
    },
  },
};

/** As the service does, for its API_KEY and its DNS servers. */
function readEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}

function usage(): string {
  return `Usage: signpost <command>\n\n${listing('', commands)}`;
}

async function run([name = '', ...args]: readonly string[], io: Io): Promise<Outcome> {
  const wanted = ['--help', '-h'].includes(name) ? 'help' : name;
  const command = Object.hasOwn(commands, wanted) ? commands[wanted] : undefined;
  if (command !== undefined) return command.run(args, io);
  io.err(usage());
  return wrongUsage(name === '' ? 'which command?' : `there is no command ${name}`);
}

const exitCodes: Readonly<Record<Outcome['kind'], number>> = {
  done: 0,
  negative: 1,
  failed: 1,
  undecided: 2,
  wrong_usage: 2,
};

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
try {
  const outcome = await run(process.argv.slice(2), io);
  if ('problem' in outcome) io.err(`signpost: ${outcome.problem}\n`);
  process.exitCode = exitCodes[outcome.kind];
} catch (fault) {
  io.err(`signpost: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
