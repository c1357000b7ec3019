/** What the commands of the command line have in common: where they write, how they end, how they read their options. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { printable } from '../core/names/printable.ts';
import { nearest } from './nearest.ts';

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

export type Command = {
  /** What may follow the name. */
  readonly synopsis: string;
  readonly summary: string;
  readonly run: (args: readonly string[], io: Io) => Promise<Outcome>;
};

export const done: Outcome = { kind: 'done' };

export function failed(problem: string): Outcome & { readonly kind: 'failed' } {
  return { kind: 'failed', problem };
}

export function wrongUsage(problem: string): Outcome & { readonly kind: 'wrong_usage' } {
  return { kind: 'wrong_usage', problem };
}

type Options = NonNullable<ParseArgsConfig['options']>;

/** Where a command was not found: which ones there are is said beside it. */
export function noSuchCommand(name: string, before: string, names: readonly string[]): Outcome {
  const near = nearest(name, names);
  const more = near === undefined ? '' : `; did you mean ${before}${near}?`;
  return wrongUsage(`there is no command ${before}${printable(name, NAME_LENGTH_MAX)}${more}`);
}

const NAME_LENGTH_MAX = 50;

export function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

/** What is said where there are fewer or more other arguments than wanted. Words are repeated only where none is secret. */
type Wanted = {
  readonly count: number;
  readonly tooFew?: string;
  readonly tooMany?: (superfluous: string) => string;
};

/** Options by name and exactly `count` other arguments, or what is wrong with them in one sentence. */
export function parseOptions<const T extends Options>(
  args: readonly string[],
  options: T,
  { count, tooFew = 'something is missing', tooMany = () => tooManyOf(count) }: Wanted,
) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length === count) return { ok: true, values, positionals } as const;
    const [superfluous] = positionals.slice(count);
    const problem = superfluous === undefined ? tooFew : tooMany(superfluous);
    return { ok: false, refusal: wrongUsage(problem) } as const;
  } catch (fault) {
    // parseArgs throws for the user's mistakes only, with advice after the first sentence.
    const [sentence = ''] = String(fault instanceof Error ? fault.message : fault).split('. ');
    const problem = printable(sentence, PROBLEM_LENGTH_MAX);
    const [, unknown = ''] = /^Unknown option '--([^']+)'$/.exec(sentence) ?? [];
    const near = nearest(unknown, Object.keys(options));
    const more = near === undefined ? '' : `; did you mean --${near}?`;
    return { ok: false, refusal: wrongUsage(`${problem}${more}`) } as const;
  }
}

const PROBLEM_LENGTH_MAX = 200;

function tooManyOf(count: number): string {
  return count === 0 ? 'it takes options only, and nothing else' : 'it takes one at a time';
}

/** A command's name and what may follow, then what it does: one line each, aligned. */
export function listing(prefix: string, commands: Readonly<Record<string, Command>>): string {
  const rows = Object.entries(commands).map(([name, { synopsis, summary }]) => {
    return [`${prefix}${name} ${synopsis}`.trimEnd(), summary] as const;
  });
  const width = Math.max(...rows.map(([call]) => call.length));
  return rows.map(([call, summary]) => `  ${call.padEnd(width)}  ${summary}\n`).join('');
}
