/** What must hold after every fault, whatever it was. */
import type { Fault, World } from '../fault.ts';

export type Invariant = {
  readonly id: string;
  readonly words: string;
  /** What violates it, in words; nothing where it holds. May wait for what settles by itself. */
  readonly check: (world: World, fault: Fault) => Promise<readonly string[]>;
};

/** A list in which a violation of every row would hide the next invariant's. */
export function few(lines: readonly string[]): readonly string[] {
  const SHOWN = 5;
  const rest = lines.length - SHOWN;
  return rest > 0 ? [...lines.slice(0, SHOWN), `and ${rest} more`] : lines;
}
