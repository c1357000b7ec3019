/** What the commands of the command line have in common: where they write, how they end, how they read their options. */

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { printable } from '../core/names/printable.ts';

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

/** Commands under one name, such as `signpost keys`. */
export type Group = {
  readonly name: string;
  readonly commands: Readonly<Record<string, Command>>;
  readonly usage: string;
};

/** Runs one of a group's commands, or shows which there are. */
export async function runGroup(
  { name: group, commands, usage }: Group,
  [name = '', ...args]: readonly string[],
  io: Io,
): Promise<Outcome> {
  if (isHelp(name) || name === 'help' || args.some(isHelp)) {
    io.out(usage);
    return done;
  }
  if (name === '') {
    io.err(usage);
    return wrongUsage('which command?');
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    io.err(`Usage: signpost ${group} <command>; signpost ${group} help lists them\n`);
    return noSuchCommand(name, `${group} `, Object.keys(commands));
  }
  const outcome = await command.run(args, io);
  if (outcome.kind === 'wrong_usage') {
    const call = `signpost ${group} ${name} ${command.synopsis}`;
    io.err(`Usage: ${call}; signpost ${group} help has the options\n`);
  }
  return outcome;
}

/** A command's name and what may follow, then what it does: one line each, aligned. */
export function listing(prefix: string, commands: Readonly<Record<string, Command>>): string {
  const rows = Object.entries(commands).map(([name, { synopsis, summary }]) => {
    return [`${prefix}${name} ${synopsis}`.trimEnd(), summary] as const;
  });
  const width = Math.max(...rows.map(([call]) => call.length));
  return rows.map(([call, summary]) => `  ${call.padEnd(width)}  ${summary}\n`).join('');
}

/** Of the names the one that is the fewest slips away, where that is near enough to be meant. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  if (typed.length > TYPED_LENGTH_MAX) return undefined;
  const slips = names.map((name) => [slipsBetween(typed.toLowerCase(), name), name] as const);
  const [best] = slips.sort(([a], [b]) => a - b);
  return best !== undefined && best[0] <= slipsAllowed(typed) ? best[1] : undefined;
}

const TYPED_LENGTH_MAX = 30;

/** Our choice: one in three letters, two at most; of shorter words any would be near to any other. */
function slipsAllowed(typed: string): number {
  return Math.min(2, Math.floor(typed.length / 3));
}

/** How many letters to add, drop, change or swap with the next one: optimal string alignment. */
function slipsBetween(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(rows, i - 1, j) + 1,
        (row[j - 1] ?? 0) + 1,
        at(rows, i - 1, j - 1) + same,
        swapped ? at(rows, i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(row);
  }
  return at(rows, one.length, other.length);
}

/** Outside of the table nothing is near. */
function at(rows: readonly (readonly number[])[], i: number, j: number): number {
  return rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
}

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
