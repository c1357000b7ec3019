/** What the commands of the command line have in common: where they write, how they end, which options they share. */

import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { wrapped } from './layout.ts';

/** The world of a command, so that it is called in a test as it is in a shell. Nothing else of the process is touched. */
export type Io = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Adds to `env` what only the .env file of the working directory has. Throws where there is one that cannot be read. */
  readonly readEnvFile: () => void;
  readonly now: () => Date;
  /** Results, and nothing else: `$(…)` of a shell takes them as they are. */
  readonly out: (text: string) => void;
  /** What a person wants to read. */
  readonly err: (text: string) => void;
  readonly screen: Screen;
  readonly interruptions: Interruptions;
};

/** What is behind the two outputs: whether each is a screen with a person before it, and how wide the first one is. */
export type Screen = { readonly out: boolean; readonly err: boolean; readonly columns: number };

/** Where an interruption (Ctrl-C) comes from, and how to end for it as if nobody had listened. */
export type Interruptions = {
  readonly once: (listener: () => void) => void;
  readonly off: (listener: () => void) => void;
  readonly end: () => void;
};

/**
 * `negative`: it was found out and shown, and it is not as it should be. `undecided`: it could not be found out, for a
 * reason that was shown or that is the problem. `failed`: the service refused or could not be reached; `wrong_usage`: the
 * command cannot be understood.
 */
export type Outcome =
  | { readonly kind: 'done' | 'negative' }
  | { readonly kind: 'undecided'; readonly problem?: string }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'wrong_usage'; readonly problem: string };

export const done: Outcome = { kind: 'done' };

export function failed(problem: string): Outcome & { readonly kind: 'failed' } {
  return { kind: 'failed', problem };
}

export function wrongUsage(problem: string): Outcome & { readonly kind: 'wrong_usage' } {
  return { kind: 'wrong_usage', problem };
}

/** Where a command is defined. */
export type Program = CommandUnknownOpts;

/** Runs what a command is for, with what only `.env` says, and keeps the outcome for the exit code. */
export type Run = (act: (io: Io) => Promise<Outcome>) => Promise<void>;

/** What the commands that call the service share. */
export function urlOption() {
  return new Option(
    '--url <url>',
    'where the service is; else SIGNPOST_URL, else http://127.0.0.1:3000',
  );
}

/** `what`: what stands on standard output then. */
export function jsonOption(what = 'the API’s own JSON on standard output, and nothing else there') {
  return new Option('--json', what);
}

/** What stands below the options of a help, each of them a paragraph. */
export function notes(...paragraphs: readonly string[]): string {
  return paragraphs.map((text) => `\n${wrapped(text, HELP_COLUMNS).join('\n')}`).join('\n');
}

const HELP_COLUMNS = 80;

/** Durations as people write them. */

const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `45s`, `30m`, `24h`, `90d` or `0` in ms; null for anything else. */
export function durationMs(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (units[unit] ?? 0);
}
