/** Findings about CAA: whether our certificate authority may issue for the name, and the record that lets it. */
import type { FamilyOf } from '../finding.ts';
import { type DiagnosisInput, unique } from '../input.ts';
import { foreign, foreignName, listed } from '../words.ts';
import { advice, type CaaDifference, type CaaWarning, caaHintWords } from './caa.ts';
import { differingActor, isSplit, saidByEach, splitWords } from './caa-differ.ts';
import { placeIn, placeOf } from './caa-place.ts';
import type { CaaDenial, CaaHint } from './caa-set.ts';
import { type CaaUnknown, caaUnknown } from './caa-unknown.ts';
import { withoutParameters } from './caa-value.ts';

/** What CAA records mean for our certificate. */
export type CaaFinding =
  | {
      readonly code: 'caa_blocks';
      readonly hostname: string;
      /** Where the set was found: the host name or an ancestor (RFC 8659, 3). */
      readonly foundAt: string;
      /** The name behind `foundAt`'s alias that holds the set; `ours`: the platform's own target. */
      readonly publishedAt?: string;
      readonly ours?: true;
      /** The set in presentation form, e.g. `0 issue "ca.example"`. */
      readonly records: readonly string[];
      /** The record that would allow us, in presentation form. */
      readonly toAdd: string;
      /** Those that would allow the certificate authorities that stand in for the first, where there are any. */
      readonly orToAdd?: readonly string[];
      /** Those that forbid whatever else is there (critical, not understood: RFC 8659, 4.1); none helps beside them. */
      readonly toRemove?: readonly string[];
      readonly reason?: CaaDenial;
      /** Our validation method, where `validationmethods` of the record for our authority leaves it out (RFC 8657, 4). */
      readonly method?: string;
      readonly hint?: CaaHint;
      /** What the RFCs alone make of the same records. */
      readonly rfc?: 'allow' | 'deny';
      /** What each name server says, where they differ; the rest is by the one that forbids. */
      readonly differ?: CaaDifference;
    }
  | CaaUnknown
  /** Our authority may issue, but not for a good reason, or not for long. */
  | {
      readonly code: 'caa_warns';
      readonly hostname: string;
      readonly foundAt: string;
      readonly records: readonly string[];
      readonly reasons: readonly CaaWarning[];
    };

/** The rules of these findings, by code; findings.ts puts them beside those of the other families. */
export const caaFindings: FamilyOf<CaaFinding> = {
  caa_blocks: {
    meaning: 'A CAA record does not let our certificate authority issue',
    severity: 'blocks',
    actor: 'customer',
    order: 130,
    actorFor: ({ ours, differ }) => (ours ? 'platform' : differingActor(differ)),
    hints: ({ hint, toAdd }) =>
      hint === undefined ? [] : [{ code: hint, text: caaHintWords[hint](toAdd) }],
    check: caaBlocks,
    explain: (finding) => {
      if (isSplit(finding)) return splitWords(finding);
      const { records, reason, rfc, differ } = finding;
      const place = placeOf(finding.foundAt, finding.publishedAt);
      const strict =
        rfc === 'allow'
          ? '. By the RFC alone they would allow it; our authority reads them more strictly'
          : '';
      return {
        summary: summaries[reason ?? 'other_authority'](place, finding),
        expected: `CAA ${[finding.toAdd, ...(finding.orToAdd ?? [])].join(' or ')}`,
        found: `${differ === undefined ? `At ${place}: ${listed(records)}` : saidByEach(differ)}${strict}`,
        action: `${differ === undefined ? '' : 'The name servers differ, so do this at each of them. '}${repair(place, finding)}`,
      };
    },
  },
  ...caaUnknown,
  caa_warns: {
    meaning: 'Our certificate authority may issue, but by luck',
    severity: 'warns',
    actor: 'customer',
    order: 220,
    check: caaWarns,
    explain: ({ hostname, records, reasons, ...finding }) => {
      const foundAt = foreign(finding.foundAt);
      return {
        summary: `Our certificate authority may issue for ${hostname}, but the CAA records of ${foundAt} need attention.`,
        expected:
          'A CAA record that names our authority alone, without parameters, or none at all.',
        found: `At ${foundAt}: ${listed(records)}`,
        action: reasons.map((reason) => advice[reason]).join(' '),
      };
    },
  },
};

/** The set forbids our authority. */
function caaBlocks(
  input: DiagnosisInput,
): (CaaFinding & { readonly code: 'caa_blocks' }) | undefined {
  const { wanted, caa } = input;
  if (caa?.kind !== 'deny') return undefined;
  const { foundAt, records, toAdd, toRemove, reason, method, hint, rfc, differ } = caa;
  return {
    code: 'caa_blocks',
    hostname: wanted.hostname,
    foundAt,
    ...placeIn(input, foundAt, caa.publishedAt),
    records,
    toAdd,
    ...(toRemove.length === 0 ? {} : { toRemove }),
    reason,
    ...(method === undefined ? {} : { method }),
    ...(hint === undefined ? {} : { hint }),
    rfc,
    ...(differ === undefined ? {} : { differ }),
  };
}

/** Our authority may issue, but not for a good reason, or not for long. */
function caaWarns({
  expected: { hostname },
  caa,
}: DiagnosisInput): (CaaFinding & { readonly code: 'caa_warns' }) | undefined {
  if (caa?.kind !== 'allow' || caa.warnings.length === 0) return undefined;
  const { foundAt, records, warnings } = caa;
  const reasons = [...new Set(warnings)].sort();
  return {
    code: 'caa_warns',
    hostname,
    foundAt: foundAt ?? hostname,
    records: unique(records),
    reasons,
  };
}

type Blocks = CaaFinding & { readonly code: 'caa_blocks' };

const summaries: {
  readonly [D in CaaDenial]: (foundAt: string, finding: Blocks) => string;
} = {
  other_authority: (foundAt, { hostname, orToAdd }) =>
    orToAdd === undefined
      ? `The CAA records of ${foundAt} do not let our certificate authority issue for ${hostname}.`
      : `The CAA records of ${foundAt} let neither of our certificate authorities issue for ${hostname}.`,
  nobody: (foundAt, { hostname }) =>
    `The CAA records of ${foundAt} let no certificate authority at all issue for ${hostname}.`,
  malformed: (foundAt, { hostname }) =>
    `A CAA record of ${foundAt} cannot be understood as it is written, which forbids a certificate for ${hostname}.`,
  other_account: (foundAt, { hostname, method }) =>
    `The CAA record of ${foundAt} names our certificate authority, but another account there than ours (accounturi)${method === undefined ? '' : `, and leaves out our method ${method}`}, which forbids it for ${hostname}.`,
  other_method: (foundAt, { hostname, method }) =>
    `The CAA record of ${foundAt} names our certificate authority, but its validationmethods leave out ${method ?? 'our method'}, by which we prove ${hostname}.`,
  unknown_critical: (foundAt, { hostname }) =>
    `A CAA record of ${foundAt} is marked critical and not understood by our certificate authority, which forbids any certificate for ${hostname}.`,
};

function repair(place: string, finding: Blocks): string {
  const { ours, foundAt, publishedAt = foundAt, toRemove } = finding;
  if (ours) {
    return `Nothing for you to do: the records of ${place} come from our own target. We correct them and check again automatically.`;
  }
  const at = foreignName(publishedAt);
  return toRemove === undefined ? addition(at, finding) : removal(at, toRemove, finding);
}

/** Beside a record that restricts, one that restricts as much comes first: the policy is the customer's. */
function addition(at: string, { toAdd, orToAdd, reason, method }: Blocks): string {
  const bare = withoutParameters(toAdd);
  const wider = bare === toAdd ? '' : ` – or, for any account and method: ${bare}`;
  const other =
    orToAdd === undefined
      ? ''
      : ` – beside it or in its place, for the certificate authority that stands in for the first: ${listed(orToAdd)}`;
  const add = `Add this CAA record at ${at}, beside those that are there: ${toAdd}${wider}${other}`;
  return reason === 'other_method' && method !== undefined
    ? `${add} – or add ${method} to the validationmethods of the record that is there.`
    : add;
}

function removal(
  foundAt: string,
  toRemove: readonly string[],
  { toAdd, orToAdd = [] }: Blocks,
): string {
  const toAllow = [toAdd, ...orToAdd].join(' or ');
  return `Delete from ${foundAt}, or set to flags 0: ${listed(toRemove)}. If an issue record remains there, add: ${toAllow}`;
}
