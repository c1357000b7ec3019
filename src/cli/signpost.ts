/** The command line: `signpost <command>`, called as a function; main.ts is the process around it. */
import { readFileSync } from 'node:fs';
import { projectRoot } from '../db/engine/migrate.ts';
import {
  type Command,
  done,
  type Io,
  isHelp,
  listing,
  noSuchCommand,
  type Outcome,
  wrongUsage,
} from './command.ts';

/** Each is loaded when it is asked for: the demo brings the whole service with it. */
const commands: Readonly<Record<string, Command>> = {
  demo: {
    synopsis: '',
    summary: 'a customer’s domain goes live on this machine, with the classic mistakes on the way',
    async run(args, io) {
      const { runDemoCommand } = await import('./demo/command.ts');
      return runDemoCommand(args, io);
    },
  },
  doctor: {
    synopsis: '<hostname> [--target <host>]',
    summary: 'check the DNS of a host name: what every server shows, what is wrong, what to do',
    async run(args, io) {
      io.readEnvFile();
      const { runDoctor } = await import('./doctor/doctor.ts');
      return runDoctor(args, io);
    },
  },
  domains: {
    synopsis: '<command>',
    summary: 'list, show, verify, add and remove domains: their status and what to do',
    async run(args, io) {
      io.readEnvFile();
      const { runDomains } = await import('./domains/domains.ts');
      return runDomains(args, io);
    },
  },
  keys: {
    synopsis: '<command>',
    summary: 'list, create, rotate and revoke the API keys of a running service',
    async run(args, io) {
      io.readEnvFile();
      const { runKeys } = await import('./keys/keys.ts');
      return runKeys(args, io);
    },
  },
  'rotate-keys': {
    synopsis: '[--check]',
    summary: 'reseal what is stored with the first key of KEY_ENCRYPTION_KEY',
    async run(args, io) {
      io.readEnvFile();
      const { runRotateKeys } = await import('./rotate-keys/rotate-keys.ts');
      return runRotateKeys(args, io);
    },
  },
  zone: {
    synopsis: '',
    summary: 'the DNS records to publish for the platform itself, as lines of a zone file',
    async run(args, io) {
      io.readEnvFile();
      const { runZone } = await import('./zone/zone.ts');
      return runZone(args, io);
    },
  },
  help: {
    synopsis: '[<command>]',
    summary: 'this text, or the help of one command',
    async run([name = ''], io) {
      if (name === '' || name === 'help' || isHelp(name)) {
        io.out(usage());
        return done;
      }
      const command = commandNamed(name);
      return command === undefined ? notFound(name, io) : command.run(['help'], io);
    },
  },
};

function commandNamed(name: string): Command | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}

function usage(): string {
  return `Usage: signpost <command>

${listing('', commands)}
  --version                            which version this is
  <command> --help                     more about a command: its options and exit codes

Exit 0: it worked. Exit 1: check failed. Exit 2: bad usage, a refused request, or no answer.
`;
}

/** As package.json has it. */
function version(): string {
  const text = readFileSync(new URL('package.json', projectRoot), 'utf8');
  const parsed: { readonly version: string } = JSON.parse(text);
  return parsed.version;
}

/**
 * Runs a command and gives its exit code: 0; 1 where it was found out that the answer is no; 2 where it was not understood
 * or was refused, or the answer could not be found out. Never rejects.
 */
export async function runSignpost(args: readonly string[], io: Io): Promise<number> {
  try {
    const outcome = await run(args, io);
    if ('problem' in outcome) io.err(`signpost: ${outcome.problem}\n`);
    return exitCodes[outcome.kind];
  } catch (fault) {
    return sayFault(fault, args, io);
  }
}

async function run([name = '', ...args]: readonly string[], io: Io): Promise<Outcome> {
  if (name === '--version' || name === '-v') {
    io.out(`${version()}\n`);
    return done;
  }
  const command = commandNamed(isHelp(name) ? 'help' : name);
  return command === undefined ? notFound(name, io) : command.run(args, io);
}

function notFound(name: string, { err }: Io): Outcome {
  if (name === '') {
    err(usage());
    return wrongUsage('which command?');
  }
  err('Usage: signpost <command>; signpost help lists them\n');
  return noSuchCommand(name, '', Object.keys(commands));
}

const exitCodes: Readonly<Record<Outcome['kind'], number>> = {
  done: 0,
  negative: 1,
  failed: 2,
  undecided: 2,
  wrong_usage: 2,
};

/** Says what broke in one line, without a stack, and gives the exit code with which nobody takes it for an answer. */
export function sayFault(fault: unknown, [name]: readonly string[], { err }: Io): number {
  // Whoever read along has gone, as `| head` does: there is nobody to tell.
  const isGone = fault instanceof Error && 'code' in fault && fault.code === 'EPIPE';
  if (!isGone) err(`signpost: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  // A fault of ours is no word about what was asked; the demo, which asks nothing, has it for a no.
  return name === 'demo' ? 1 : 2;
}
