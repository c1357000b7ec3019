/**
 * The TXT record that proves whose an apex is, where another project has it, too: addresses are the same for all. What the
 * customer is asked for and what the check asks for both come from here.
 */
import { type Answer, isConclusive, recordsOf } from '../diagnosis/observation.ts';
import { printable } from './printable.ts';
import { splitAtZone } from './zone.ts';

/** `name` as providers' forms want it, relative to the zone; `fullName` as the DNS has it. */
export type ProofRecord = {
  readonly type: 'TXT';
  readonly name: string;
  readonly fullName: string;
  readonly value: string;
};

/**
 * What a check of the record found. `both`: the other project's own is there, too, so nobody moves, and two projects never
 * take the name from each other at every check. `partial`: not every server that answers has it.
 */
export type ProofSeen = 'proven' | 'missing' | 'both' | 'partial' | 'unknown';

/** The record that a claimant is asked for, how far it is, and what stands there: at most 5 values, sorted and cut. */
export type Proof = {
  readonly record: ProofRecord;
  readonly seen: ProofSeen;
  readonly found: readonly string[];
};

/** A label of its own (RFC 8552, 1), so that it stands beside whatever else the name has. */
const LABEL = '_signpost';
/** What a finding keeps of foreign records. Our choice: enough to recognise a mistake. */
const [FOUND_MAX, FOUND_LENGTH_MAX] = [5, 200];

/** Where the record stands: `_signpost.example.com`. */
export function proofNameOf(hostname: string): string {
  return `${LABEL}.${hostname}`;
}

/** `zone`: the zone that the host name is in, where that is not the registrable domain. */
export function proofRecordFor({
  hostname,
  zone = splitAtZone(hostname).zone,
  value,
}: {
  readonly hostname: string;
  readonly zone?: string | undefined;
  readonly value: string;
}): ProofRecord {
  const fullName = proofNameOf(hostname);
  return { type: 'TXT', name: fullName.slice(0, -zone.length - 1), fullName, value };
}

/**
 * Decides from what each server showed at the record's name; without a conclusive answer it is unknown, and nothing moves. A
 * value counts with the quotes and blanks that providers' forms keep.
 */
export function checkProof(
  answers: readonly Answer<string>[],
  values: { readonly claimant: string; readonly holder: string },
): Pick<Proof, 'seen' | 'found'> {
  const conclusive = answers.filter(isConclusive).map((answer) => recordsOf(answer).map(plain));
  const all = [...new Set(conclusive.flat())].sort();
  const found = all
    .slice(0, FOUND_MAX)
    .map((text) => printable(text, FOUND_LENGTH_MAX) || '(empty)');
  return { seen: seenIn(conclusive, all, values), found };
}

function seenIn(
  conclusive: readonly (readonly string[])[],
  all: readonly string[],
  { claimant, holder }: { readonly claimant: string; readonly holder: string },
): ProofSeen {
  if (conclusive.length === 0) return 'unknown';
  if (!all.includes(claimant)) return 'missing';
  if (all.includes(holder)) return 'both';
  return conclusive.every((texts) => texts.includes(claimant)) ? 'proven' : 'partial';
}

function plain(text: string): string {
  return text.trim().replace(/^"(.*)"$/, '$1');
}
