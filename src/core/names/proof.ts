/**
 * The TXT record that proves whose an apex is, where its addresses do not (claim.ts). What the customer is asked for and what
 * the check asks for both come from here.
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

/** What every value begins with; a value is one claim's. */
export const PROOF_PREFIX = 'signpost-domain-verification=';
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
 * value counts with the quotes and blanks that providers' forms keep. `holder`: null where nobody else has the name.
 */
export function checkProof(
  answers: readonly Answer<string>[],
  values: { readonly claimant: string; readonly holder: string | null },
): Pick<Proof, 'seen' | 'found'> {
  const conclusive = textsOf(answers);
  const all = [...new Set(conclusive.flat())].sort();
  return { seen: seenIn(conclusive, all, values), found: shortened(all) };
}

/**
 * The values that prove another claim than the one with the value `own`, or none any more: at most 5, sorted and cut. Null
 * without a conclusive answer.
 */
export function foreignProofs(
  answers: readonly Answer<string>[],
  own: string,
): readonly string[] | null {
  const conclusive = textsOf(answers);
  if (conclusive.length === 0) return null;
  const foreign = conclusive.flat().filter((text) => text.startsWith(PROOF_PREFIX) && text !== own);
  return shortened([...new Set(foreign)].sort());
}

/** What each server that says anything has at the record's name. */
function textsOf(answers: readonly Answer<string>[]): readonly (readonly string[])[] {
  return answers.filter(isConclusive).map((answer) => recordsOf(answer).map(plain));
}

function shortened(texts: readonly string[]): readonly string[] {
  return texts.slice(0, FOUND_MAX).map((text) => printable(text, FOUND_LENGTH_MAX) || '(empty)');
}

function seenIn(
  conclusive: readonly (readonly string[])[],
  all: readonly string[],
  { claimant, holder }: { readonly claimant: string; readonly holder: string | null },
): ProofSeen {
  if (conclusive.length === 0) return 'unknown';
  if (!all.includes(claimant)) return 'missing';
  if (holder !== null && all.includes(holder)) return 'both';
  return conclusive.every((texts) => texts.includes(claimant)) ? 'proven' : 'partial';
}

function plain(text: string): string {
  return text.trim().replace(/^"(.*)"$/, '$1');
}
