import type { Fault, World } from '../fault.ts';

export type Invariant = {
  readonly id: string;
  readonly words: string;
  /** The violations; empty if it holds. Can wait until the system settles. */
  readonly check: (world: World, fault: Fault) => Promise<readonly string[]>;
};

/** Shortens the list, so that it does not hide the next invariant's violations. */
export function few(lines: readonly string[]): readonly string[] {
  const SHOWN = 5;
  const rest = lines.length - SHOWN;
  return rest > 0 ? [...lines.slice(0, SHOWN), `and ${rest} more`] : lines;
}
