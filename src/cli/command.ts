import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { wrapped } from './layout.ts';

/** What a command uses of the process, so that tests can replace it. */
export type Io = {
  /** `readEnvFile` can add to it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Adds what is set only in the .env file. Throws if the file cannot be read. */
  readonly readEnvFile: () => void;
  readonly now: () => Date;
  /** Standard output, without adding line ends. Only results, so that `$(…)` can capture them. */
  readonly out: (text: string) => void;
  /** Standard error, without adding line ends. Text for people. */
  readonly err: (text: string) => void;
  readonly screen: Screen;
  readonly interruptions: Interruptions;
};

/** Whether each output is a terminal. `columns`: of standard output, 80 if unknown. */
type Screen = { readonly out: boolean; readonly err: boolean; readonly columns: number };

/** Ctrl-C. */
type Interruptions = {
  /** At the first interruption, instead of the default behavior. */
  readonly once: (listener: () => void) => void;
  /** Does nothing if the listener was already called. */
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

/** `problem` is printed after `signpost: ` in one line and must be printable. */
export function exitFailed(problem: string): CliExit & { readonly kind: 'failed' } {
  return { kind: 'failed', problem };
}

/** `problem` is printed as for `failed`, below the usage line. */
export function wrongUsage(problem: string): CliExit & { readonly kind: 'wrong_usage' } {
  return { kind: 'wrong_usage', problem };
}

export type Program = CommandUnknownOpts;

/** Keeps the outcome for the exit code. Rejects if `act` or reading the .env file does. */
export type Run = (act: (io: Io) => Promise<CliExit>) => Promise<void>;

/** Each command needs its own instance. */
export function urlOption() {
  return new Option(
    '--url <url>',
    'address of the service (default: SIGNPOST_URL or http://127.0.0.1:3000)',
  );
}

/** `what`: what standard output then contains. */
export function jsonOption(
  what = 'print the API’s JSON response, and nothing else, to standard output',
) {
  return new Option('--json', what);
}

/** Paragraphs below the options of a help page. */
export function notes(...paragraphs: readonly string[]): string {
  return paragraphs.map((text) => `\n${wrapped(text, HELP_COLUMNS).join('\n')}`).join('\n');
}

const HELP_COLUMNS = 80;
