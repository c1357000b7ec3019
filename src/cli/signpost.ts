/** Runs a command line as a function; main.ts is the process around it. */
import { CommanderError } from '@commander-js/extra-typings';
import { printable } from '../core/names/printable.ts';
import { type CliExit, exitDone, type Io, type Program, wrongUsage } from './command.ts';
import { createProgram } from './program.ts';

/** Exit code 0: success, 1: a check failed, 2: invalid, refused or unknown. Never rejects. */
export async function runSignpost(args: readonly string[], io: Io): Promise<number> {
  let outcome: CliExit = exitDone;
  try {
    const program = createProgram(io, (settled) => {
      outcome = settled;
    });
    outcome = insteadOfHelp(program, args) ?? (await refusalOf(program, args)) ?? outcome;
    if (outcome.kind === 'wrong_usage') io.err(`${usageOf(program, args)}\n`);
    if ('problem' in outcome) io.err(`signpost: ${outcome.problem}\n`);
    return exitCodes[outcome.kind];
  } catch (fault) {
    return sayFault(fault, args, io);
  }
}

/** Null if a command ran or help was shown. */
async function refusalOf(program: Program, args: readonly string[]): Promise<CliExit | null> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return null;
  } catch (fault) {
    if (!(fault instanceof CommanderError)) throw fault;
    if (fault.exitCode === 0) return null;
    return wrongUsage(fault.code === 'commander.help' ? 'which command?' : problemIn(fault));
  }
}

/** In one line, with the library's “Did you mean”. */
function problemIn({ message }: CommanderError): string {
  const line = message.replace(/^error: /, '').replace(/\s+/g, ' ');
  return printable(line, PROBLEM_LENGTH_MAX);
}

const PROBLEM_LENGTH_MAX = 200;

/** `doctor help` would check a host named help; the library only supports `help doctor`. */
function insteadOfHelp(program: Program, args: readonly string[]): CliExit | null {
  const { command, path } = commandIn(program, args);
  const isLeaf = command.commands.length === 0;
  if (!isLeaf || args.length !== path.length + 1 || args.at(-1) !== 'help') return null;
  const asked = [program.name(), ...path.slice(0, -1), 'help', ...path.slice(-1)].join(' ');
  return wrongUsage(`did you mean \`${asked}\`?`);
}

function usageOf(program: Program, args: readonly string[]): string {
  const { command, path } = commandIn(program, args);
  const call = [program.name(), ...path].join(' ');
  return `Usage: ${call} ${command.usage()}; see ${call} --help`;
}

function commandIn(program: Program, args: readonly string[]) {
  let command = program;
  const path: string[] = [];
  for (const name of args) {
    const next = command.commands.find((one) => one.name() === name);
    if (next === undefined) break;
    command = next;
    path.push(name);
  }
  return { command, path };
}

const exitCodes: Readonly<Record<CliExit['kind'], number>> = {
  done: 0,
  negative: 1,
  failed: 2,
  undecided: 2,
  wrong_usage: 2,
};

/** Prints an error without a stack and returns the exit code: 2, or 1 for the demo. */
export function sayFault(fault: unknown, [name]: readonly string[], { err }: Io): number {
  // The reader of the output has closed it, as `| head` does.
  const isGone = fault instanceof Error && 'code' in fault && fault.code === 'EPIPE';
  if (!isGone) err(`signpost: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  // Exit code 1 means that a check failed. In the demo, it means that the domain did not go live.
  return name === 'demo' ? 1 : 2;
}
