/** What proves an apex to a claim: the model's own rules. */
import type { Entry } from './entry.ts';
import type { Shown } from './shown.ts';

/** `heldBy`: who held the name, or had it pending, too, when it was asked whose it is; `hadHolder`: the former. */
export type Checked = {
  readonly seen: Shown;
  readonly heldBy: Entry | null;
  readonly hadHolder: boolean;
};

/** The first check that could tell says whether the addresses were there before the claim. */
export function place(entry: Entry, { record }: Shown): void {
  if (record !== 'silent') entry.arrival ??= typeof record === 'number' ? 'worthless' : 'awaited';
}

/** Whether an apex that points here is the claim's: by its TXT record, or by addresses that mean nobody else. */
export function mayHave(entry: Entry, { seen, heldBy, hadHolder }: Checked): boolean {
  if (heldBy === null) return entry.arrival === 'awaited' || seen.proofs.includes(entry.project);
  if (isProven(entry, heldBy, seen)) return true;
  // They stand for whoever holds the name, also once it is gone.
  if (hadHolder) entry.arrival = 'worthless';
  return false;
}

/** Whether the one project's proof stands there, and the other's does not. */
export function isProven(entry: Entry, holder: Entry, { proofs }: Shown): boolean {
  return proofs.includes(entry.project) && !proofs.includes(holder.project);
}
