/** The command line: `signpost <command>`, called as a function; main.ts is the process around it. */
import { CommanderError } from '@commander-js/extra-typings';
import { printable } from '../core/names/printable.ts';
import { done, type Io, type Outcome, type Program, wrongUsage } from './command.ts';
import { createProgram } from './program.ts';

/**
 * Runs a command and returns its exit code: 0 where it worked; 1 where it was found out that the answer is no; 2
 * where the command was not understood or was refused, or the answer could not be found out. `args` are those after
 * the program's name. Prints why it is 2 on standard error, in one line. Never rejects.
 */
export async function runSignpost(args: readonly string[], io: Io): Promise<number> {
  let outcome: Outcome = done;
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

/** Null where the command ran, or what was asked for was help. */
async function refusalOf(program: Program, args: readonly string[]): Promise<Outcome | null> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return null;
  } catch (fault) {
    if (!(fault instanceof CommanderError)) throw fault;
    if (fault.exitCode === 0) return null;
    return wrongUsage(fault.code === 'commander.help' ? 'which command?' : problemIn(fault));
  }
}

/** The library's sentence and its “Did you mean”, in one line. It repeats what was typed. */
function problemIn({ message }: CommanderError): string {
  const line = message.replace(/^error: /, '').replace(/\s+/g, ' ');
  return printable(line, PROBLEM_LENGTH_MAX);
}

const PROBLEM_LENGTH_MAX = 200;

/** `doctor help` would check a host named help, which nobody can publish; the library knows `help doctor` alone. */
function insteadOfHelp(program: Program, args: readonly string[]): Outcome | null {
  const { command, path } = commandIn(program, args);
  const isLeaf = command.commands.length === 0;
  if (!isLeaf || args.length !== path.length + 1 || args.at(-1) !== 'help') return null;
  const asked = [program.name(), ...path.slice(0, -1), 'help', ...path.slice(-1)].join(' ');
  return wrongUsage(`did you mean \`${asked}\`?`);
}

/** How to call the command that the arguments lead to, as far as they name one. */
function usageOf(program: Program, args: readonly string[]): string {
  const { command, path } = commandIn(program, args);
  const call = [program.name(), ...path].join(' ');
  return `Usage: ${call} ${command.usage()}; ${call} --help says more`;
}

/** The command that the arguments name, and the words that lead to it. */
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

const exitCodes: Readonly<Record<Outcome['kind'], number>> = {
  done: 0,
  negative: 1,
  failed: 2,
  undecided: 2,
  wrong_usage: 2,
};

/**
 * Prints what broke in one line, without a stack, and returns the exit code: 2, or 1 for the demo. Prints nothing
 * where the reader of the output has gone (EPIPE).
 */
export function sayFault(fault: unknown, [name]: readonly string[], { err }: Io): number {
  // Whoever read along has gone, as `| head` does: there is nobody to tell.
  const isGone = fault instanceof Error && 'code' in fault && fault.code === 'EPIPE';
  if (!isGone) err(`signpost: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  // Exit code 1 is an answer about what was checked, and a fault is none. The demo checks nothing: there 1 says that
  // the domain did not go live.
  return name === 'demo' ? 1 : 2;
}
