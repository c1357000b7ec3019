/**
 * What proves an apex to be a claim's, where a claim is one attachment of a host name by a project, from add to removal.
 * Addresses are the same for every project: they count only where they came after the claim was made, and nobody else is
 * or was meant by them. docs/security.md has the table.
 */

/** What one check saw of our addresses at the name; `held`: they are there for another project, which holds the name. */
export type AddressesSeen = 'here' | 'elsewhere' | 'unknown' | 'held';

/**
 * How our addresses come to an apex, as far as one claim has seen. `awaited`: its first conclusive check showed none of
 * them, so that they count when they come. The others prove nothing for as long as the claim lasts: they were
 * `already_here` at its first conclusive check; they stood for another project (`held_before`); or they went away for so
 * long that its certificate expired (`lapsed`).
 */
export type Arrival = 'awaited' | 'already_here' | 'held_before' | 'lapsed';

/** Why a claim needs the TXT record. `contested`: another project holds the name, or has it pending. */
export type ProofReason = 'contested' | Exclude<Arrival, 'awaited'>;

/** What is known after a check; null: no check was conclusive yet. Only the first conclusive one says where it began. */
export function arrivalAfter(before: Arrival | null, seen: AddressesSeen): Arrival | null {
  if (seen === 'held') return 'held_before';
  if (before !== null || seen === 'unknown') return before;
  return seen === 'here' ? 'already_here' : 'awaited';
}

/** Everything that decides whether a name that points here needs the TXT record as well. */
export type ClaimFacts = {
  /** Of the record that the name needs: a CNAME leads to the target of one project alone. */
  readonly record: 'CNAME' | 'ALIAS';
  readonly arrival: Arrival | null;
  /** Another project holds the name, or has it pending. */
  readonly isContested: boolean;
  /** A project of another account ever held the name, removed or not. */
  readonly wasAnothers: boolean;
};

/** Returns why the TXT record is needed; null: the name is the claim's without it. */
export function proofNeeded(facts: ClaimFacts): ProofReason | null {
  const { record, arrival, isContested, wasAnothers } = facts;
  if (record === 'CNAME') return null;
  if (isContested) return 'contested';
  // Addresses that are here before any check could tell were here when the claim began.
  if (arrival !== 'awaited') return arrival ?? 'already_here';
  return wasAnothers ? 'held_before' : null;
}
