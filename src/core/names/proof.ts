/**
 * A TXT record proves who owns a name that leads here by records which every project shares: our
 * addresses, a proxy or a wildcard.
 */
import { type DnsAnswer, isConclusive, recordsOf } from '../diagnosis/observation.ts';
import { printable } from './printable.ts';
import { splitAtZone } from './zone.ts';

/** `name`: relative to the zone, as providers' forms expect. */
export type ProofRecord = {
  readonly type: 'TXT';
  readonly name: string;
  readonly fullName: string;
  readonly value: string;
};

/**
 * `both`: another claim's record is also there, so the name stays; otherwise it would move at every
 * check. `partial`: only some servers have it.
 */
export type ProofSeen = 'proven' | 'missing' | 'both' | 'partial' | 'unknown';

/** Found values: at most 5, cut, and those of claims first. */
export type Proof = {
  readonly record: ProofRecord;
  readonly seen: ProofSeen;
  readonly found: readonly string[];
};

/** An underscored name (RFC 8552, 1) does not conflict with other records of the name. */
const LABEL = '_signpost';
/** Of every claim's value. */
export const PROOF_PREFIX = 'signpost-domain-verification=';
/** Enough to recognize a mistake. */
const [FOUND_MAX, FOUND_LENGTH_MAX] = [5, 200];

export function proofNameOf(hostname: string): string {
  return `${LABEL}.${hostname}`;
}

/** No CNAME can prove an apex. */
export function isAtApex({ name }: ProofRecord): boolean {
  return name === LABEL;
}

/** `zone`: default: the registrable domain. */
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

/** `others`: of the other projects' claims. */
type ProofValues = { readonly claimant: string; readonly others: readonly string[] };

/** Ignores quotes and spaces around a value, which providers' forms can keep. */
export function checkProof(
  answers: readonly DnsAnswer<string>[],
  values: ProofValues,
): Pick<Proof, 'seen' | 'found'> {
  const conclusive = answers.filter(isConclusive).map((answer) => recordsOf(answer).map(plain));
  const all = [...new Set(conclusive.flat())].sort();
  const proofs = all.filter((text) => text.startsWith(PROOF_PREFIX));
  const found = [...new Set([...proofs, ...all])]
    .slice(0, FOUND_MAX)
    .map((text) => printable(text, FOUND_LENGTH_MAX) || '(empty)');
  return { seen: seenIn(conclusive, all, values), found };
}

function seenIn(
  conclusive: readonly (readonly string[])[],
  all: readonly string[],
  { claimant, others }: ProofValues,
): ProofSeen {
  if (conclusive.length === 0) return 'unknown';
  if (!all.includes(claimant)) return 'missing';
  if (others.some((value) => all.includes(value))) return 'both';
  return conclusive.every((texts) => texts.includes(claimant)) ? 'proven' : 'partial';
}

function plain(text: string): string {
  return text.trim().replace(/^"(.*)"$/, '$1');
}
