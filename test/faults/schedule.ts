/** Which faults run, in which order: drawn from the seed, so that the seed shows the same run again. */
import { canCombine, combine, type Fault } from './fault.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';

/** After all of them alone, where no time is given. */
const PAIRS = 10;
/** At most, where a time is given. */
const PAIRS_MAX = 1_000;
/** Beside the fault itself: until everything works again, and the invariants. */
const CHECKS_SECONDS = 25;

/** Those of FAULTS as they stand there; else each one alone in a drawn order, then pairs. */
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

/** Why it is not run at this moment; null where it is. Without a time limit everything fits; a named fault is run in any case. */
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
