/** Selects and orders the faults by seed, so that the same seed repeats a run. */
import { canCombine, combine, type Fault } from './fault.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';

/** After all single faults, without a time limit. */
const PAIRS = 10;
/** Maximum with a time limit. */
const PAIRS_MAX = 1_000;
/** On top of the fault itself: recovery and invariants. */
const CHECKS_SECONDS = 25;

/** Those of FAULTS in the given order; otherwise each one in random order, then pairs. */
export function schedule(all: readonly Fault[], options: Options, random: Random): Fault[] {
  const named = new Map(all.map((fault) => [fault.name, fault]));
  const find = (name: string) => {
    const fault = named.get(name);
    if (fault === undefined) throw new Error(`no fault is named ${name}`);
    return fault;
  };
  if (options.faults !== null) {
    return options.faults.map((name) =>
      name
        .split('+')
        .map(find)
        .reduce((one, other) => combine(one, other)),
    );
  }
  const alone = random.shuffled(all);
  return [...alone, ...pairs(all, options.minutes === null ? PAIRS : PAIRS_MAX, random)];
}

/** Why it is skipped; null if it runs. Named faults always run, as do all without a time limit. */
export function whyNot(fault: Fault, { minutes, faults }: Options, beganAt: number): string | null {
  if (minutes === null || faults !== null) return null;
  const leftSeconds = minutes * 60 - (performance.now() - beganAt) / 1_000;
  return fault.seconds + CHECKS_SECONDS <= leftSeconds ? null : 'no time was left';
}

function pairs(all: readonly Fault[], count: number, random: Random): Fault[] {
  const possible = all.flatMap((one, index) =>
    all.slice(index + 1).flatMap((other) => (canCombine(one, other) ? [combine(one, other)] : [])),
  );
  return random.shuffled(possible).slice(0, count);
}
