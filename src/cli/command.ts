/** What the commands of the command line have in common: where they write, how they end, which options they share. */

import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { wrapped } from './layout.ts';

/** The world of a command, so that it is called in a test as it is in a shell. Nothing else of the process is touched. */
export type Io = {
  /** The environment; `readEnvFile` may add to it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Adds to `env` what only the .env file of the working directory has. Throws where there is one that cannot be read. */
  readonly readEnvFile: () => void;
  /** The wall clock, for `--expires` and for the times of lines. */
  readonly now: () => Date;
  /**
   * Standard output, as it is: no line end is added. Results and nothing else, so that `$(…)` of a shell can take
   * them.
   */
  readonly out: (text: string) => void;
  /** Standard error, as it is: what a person wants to read. */
  readonly err: (text: string) => void;
  readonly screen: Screen;
  readonly interruptions: Interruptions;
};

/**
 * What is behind the two outputs: whether each is a terminal with a person before it, and the width of the first in
 * characters, 80 where it is unknown.
 */
export type Screen = { readonly out: boolean; readonly err: boolean; readonly columns: number };

/** Where an interruption (Ctrl-C) comes from, and how to end for it as if nobody had listened. */
export type Interruptions = {
  /** Calls the listener at the first interruption, in place of what the process would do by itself. */
  readonly once: (listener: () => void) => void;
  /** Takes back a listener of `once`; nothing happens where it was called already. */
  readonly off: (listener: () => void) => void;
  /** Interrupts the process once more, which ends it where no listener is left. */
  readonly end: () => void;
};

/**
 * How a command ended; signpost.ts makes the exit code of it. `done` (0): it worked, and nothing is wrong with what
 * was asked about. `negative` (1): it was found out and shown, and it is not as it should be. `undecided` (2): it
 * could not be found out, for a reason that was shown or that is the problem. `failed` (2): the service refused, or
 * could not be reached. `wrong_usage` (2): the command cannot be understood, or lacks a setting.
 */
export type Outcome =
  | { readonly kind: 'done' | 'negative' }
  | { readonly kind: 'undecided'; readonly problem?: string }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'wrong_usage'; readonly problem: string };

/** The outcome of a command that worked; exit code 0. */
export const done: Outcome = { kind: 'done' };

/**
 * The outcome of a command that was refused or could not be carried out. `problem` is printed in one line after
 * `signpost: `, so it must be fit to be printed.
 */
export function failed(problem: string): Outcome & { readonly kind: 'failed' } {
  return { kind: 'failed', problem };
}

/**
 * The outcome of a command that cannot be understood or lacks a setting. `problem` is printed as that of `failed`,
 * below a line that says how the command is called.
 */
export function wrongUsage(problem: string): Outcome & { readonly kind: 'wrong_usage' } {
  return { kind: 'wrong_usage', problem };
}

/** Where commands are defined: the program itself, or a command that has others below it. */
export type Program = CommandUnknownOpts;

/**
 * Carries out a command with the world that its program was made with, and keeps the outcome for the exit code.
 * Rejects with what `act` throws, and where the .env file cannot be read.
 */
export type Run = (act: (io: Io) => Promise<Outcome>) => Promise<void>;

/**
 * `--url`, for commands that call the service. A new one each time; client.ts reads the rest of what its help
 * promises.
 */
export function urlOption() {
  return new Option(
    '--url <url>',
    'where the service is; else SIGNPOST_URL, else http://127.0.0.1:3000',
  );
}

/** `--json`, a flag. `what`: what stands on standard output then. */
export function jsonOption(what = 'the API’s own JSON on standard output, and nothing else there') {
  return new Option('--json', what);
}

/** What stands below the options of a help: each paragraph wrapped at 80 columns, with an empty line before it. */
export function notes(...paragraphs: readonly string[]): string {
  return paragraphs.map((text) => `\n${wrapped(text, HELP_COLUMNS).join('\n')}`).join('\n');
}

const HELP_COLUMNS = 80;

/** Durations as people write them. */

/** The milliseconds of each unit. Durations are written as people write them. */
const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `45s`, `30m`, `24h`, `90d` or `0` in ms; null for anything else, such as a fraction or more than seven digits. */
export function durationMs(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (units[unit] ?? 0);
}
