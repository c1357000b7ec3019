/** Shared by all commands: their inputs and outputs, outcomes and common options. */

import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { wrapped } from './layout.ts';

/** Everything that a command uses of the process, so that tests can replace it. */
export type Io = {
  /** The environment; `readEnvFile` can add to it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Adds variables that are set only in the .env file of the working directory. Throws if the file
   * cannot be read.
   */
  readonly readEnvFile: () => void;
  /** The wall clock, for `--expires` and the times in output. */
  readonly now: () => Date;
  /**
   * Writes to standard output, without adding line ends. Only results, so that `$(…)` can capture
   * them.
   */
  readonly out: (text: string) => void;
  /** Writes to standard error, without adding line ends. Text for people. */
  readonly err: (text: string) => void;
  readonly screen: Screen;
  readonly interruptions: Interruptions;
};

/**
 * Whether each output is a terminal, and the width of standard output in characters (80 if
 * unknown).
 */
type Screen = { readonly out: boolean; readonly err: boolean; readonly columns: number };

/** Source of interruptions (Ctrl-C), and how to exit because of one. */
type Interruptions = {
  /** Calls the listener at the first interruption, instead of the default behavior. */
  readonly once: (listener: () => void) => void;
  /** Removes a listener of `once`; does nothing if it was already called. */
  readonly off: (listener: () => void) => void;
  /** Interrupts the process again, which ends it if no listener is left. */
  readonly end: () => void;
};

/**
 * How a command ended; signpost.ts derives the exit code.
 * - `done` (0): it worked and found no problem.
 * - `negative` (1): it found and showed a problem.
 * - `undecided` (2): the result is unknown, for a reason shown or given as the problem.
 * - `failed` (2): the service refused the request or could not be reached.
 * - `wrong_usage` (2): the command is invalid or lacks a setting.
 */
export type CliExit =
  | { readonly kind: 'done' | 'negative' }
  | { readonly kind: 'undecided'; readonly problem?: string }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'wrong_usage'; readonly problem: string };

export const exitDone: CliExit = { kind: 'done' };

/**
 * A command that was refused or failed. `problem` is printed after `signpost: ` in one line and
 * must be printable.
 */
export function exitFailed(problem: string): CliExit & { readonly kind: 'failed' } {
  return { kind: 'failed', problem };
}

/**
 * An invalid command or a missing setting. `problem` is printed as for `failed`, below the usage
 * line.
 */
export function wrongUsage(problem: string): CliExit & { readonly kind: 'wrong_usage' } {
  return { kind: 'wrong_usage', problem };
}

/** The program, or a command with subcommands. */
export type Program = CommandUnknownOpts;

/**
 * Runs a command and keeps its outcome for the exit code. Rejects with what `act` throws, or if the
 * .env file cannot be read.
 */
export type Run = (act: (io: Io) => Promise<CliExit>) => Promise<void>;

/** `--url`, for commands that call the service. Each command needs its own instance. */
export function urlOption() {
  return new Option(
    '--url <url>',
    'address of the service (default: SIGNPOST_URL or http://127.0.0.1:3000)',
  );
}

/** `--json`. `what`: what standard output then contains. */
export function jsonOption(
  what = 'print the API’s JSON response, and nothing else, to standard output',
) {
  return new Option('--json', what);
}

/** The text below the options of a help page: paragraphs wrapped at 80 columns. */
export function notes(...paragraphs: readonly string[]): string {
  return paragraphs.map((text) => `\n${wrapped(text, HELP_COLUMNS).join('\n')}`).join('\n');
}

const HELP_COLUMNS = 80;
