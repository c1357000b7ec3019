import { splitAtZone } from '../../names/zone.ts';
import type { FamilyOf } from '../finding.ts';
import { type DiagnosisInput, unique } from '../input.ts';
import { isSameName } from '../server-pointing.ts';
import { foreign, foreignName, listed } from '../words.ts';
import { advice, type CaaDifference, type CaaWarning, caaHintWords } from './caa.ts';
import { differingActor, isSplit, saidByEach, splitWords } from './caa-differ.ts';
import { caaPlace } from './caa-place.ts';
import type { CaaDenial, CaaHint } from './caa-set.ts';
import { actorForUnknown, type CaaUnknownFinding, unknownWords } from './caa-unknown.ts';
import { withoutParameters } from './caa-value.ts';

export type CaaFinding =
  | {
      readonly code: 'caa_blocks';
      readonly hostname: string;
      /** The host name or an ancestor (RFC 8659, section 3). */
      readonly foundAt: string;
      /** The end of `foundAt`'s alias, with the set. `ours`: the platform's own target. */
      readonly publishedAt?: string;
      readonly ours?: true;
      /** In presentation form, such as `0 issue "ca.example"`. */
      readonly records: readonly string[];
      /** Would allow our CA. */
      readonly toAdd: string;
      /** Would allow the second CA. */
      readonly orToAdd?: readonly string[];
      /** Critical and not understood (RFC 8659, section 4.1): adding records does not help. */
      readonly toRemove?: readonly string[];
      readonly reason?: CaaDenial;
      /** Our method, if `validationmethods` for our CA omits it (RFC 8657, section 4). */
      readonly method?: string;
      readonly hint?: CaaHint;
      readonly rfc?: 'allow' | 'deny';
      /** If the servers differ: the rest is from one that forbids. */
      readonly differ?: CaaDifference;
    }
  | CaaUnknownFinding
  /** Our CA can issue, but the records should be fixed. */
  | {
      readonly code: 'caa_warns';
      readonly hostname: string;
      readonly foundAt: string;
      readonly records: readonly string[];
      readonly reasons: readonly CaaWarning[];
    };

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
      const place = caaPlace(finding.foundAt, finding.publishedAt);
      const strict =
        rfc === 'allow'
          ? '. The RFC alone would allow it; our certificate authority is stricter'
          : '';
      return {
        summary: summaries[reason ?? 'other_authority'](place, finding),
        expected: `CAA ${[finding.toAdd, ...(finding.orToAdd ?? [])].join(' or ')}`,
        found: `${differ === undefined ? `At ${place}: ${listed(records)}` : saidByEach(differ)}${strict}`,
        action: `${differ === undefined ? '' : 'The name servers differ, so do this at each of them. '}${repair(place, finding)}`,
      };
    },
  },
  caa_unknown: {
    meaning: 'A CAA query got no answer, so no certificate authority can issue',
    // A CA must treat an unanswered CAA query as a refusal (RFC 8659, section 3).
    severity: 'blocks',
    actor: 'dns_provider',
    order: 140,
    actorFor: actorForUnknown,
    check: caaUnknown,
    explain: unknownWords,
  },
  caa_warns: {
    meaning: 'Our certificate authority can issue, but the CAA records are fragile',
    severity: 'warns',
    actor: 'customer',
    order: 220,
    check: caaWarns,
    explain: ({ hostname, records, reasons, ...finding }) => {
      const foundAt = foreign(finding.foundAt);
      return {
        summary: `Our certificate authority can issue for ${hostname}, but the CAA records of ${foundAt} need attention.`,
        expected:
          'A CAA record that names only our certificate authority, without parameters; or no CAA record.',
        found: `At ${foundAt}: ${listed(records)}`,
        action: reasons.map((reason) => advice[reason]).join(' '),
      };
    },
  },
};

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

/** This matters only once the name points here. */
function caaUnknown(input: DiagnosisInput): CaaUnknownFinding | undefined {
  const { wanted, caa, pointing } = input;
  if (caa?.kind !== 'unknown' || pointing !== 'right') return undefined;
  const { name, outcome } = caa;
  const place = placeIn(input, name, caa.publishedAt);
  const asked = askedOf(input, name);
  return { code: 'caa_unknown', hostname: wanted.hostname, name, ...place, ...asked, outcome };
}

/** `registry`: the customer's servers do not answer for that name. */
function askedOf(
  { observation, wanted: { hostname } }: DiagnosisInput,
  name: string,
): { readonly asked?: 'resolver' | 'registry' } {
  const { zone } = splitAtZone(hostname);
  if (zone.endsWith(`.${name}`)) return { asked: 'registry' };
  return observation.view === 'recursive' ? { asked: 'resolver' } : {};
}

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

/** The climb assumes that the record exists, so a subdomain's own level is the target's. */
function placeIn(
  { apex, wanted: { hostname, target } }: DiagnosisInput,
  name: string,
  publishedAt: string | undefined,
): { readonly publishedAt?: string; readonly ours?: true } {
  const isOurs =
    (!apex && isSameName(name, hostname)) ||
    (publishedAt !== undefined && isSameName(publishedAt, target));
  return {
    ...(publishedAt === undefined ? {} : { publishedAt }),
    ...(isOurs ? { ours: true } : {}),
  };
}

type Blocks = CaaFinding & { readonly code: 'caa_blocks' };

const summaries: {
  readonly [D in CaaDenial]: (foundAt: string, finding: Blocks) => string;
} = {
  other_authority: (foundAt, { hostname, orToAdd }) =>
    orToAdd === undefined
      ? `The CAA records of ${foundAt} do not let our certificate authority issue for ${hostname}.`
      : `The CAA records of ${foundAt} do not let either of our certificate authorities issue for ${hostname}.`,
  nobody: (foundAt, { hostname }) =>
    `The CAA records of ${foundAt} do not let any certificate authority issue for ${hostname}.`,
  malformed: (foundAt, { hostname }) =>
    `A CAA record of ${foundAt} is malformed, which forbids a certificate for ${hostname}.`,
  other_account: (foundAt, { hostname, method }) =>
    `The CAA record of ${foundAt} names our certificate authority, but another account (accounturi)${method === undefined ? '' : `, and does not include our method ${method}`}. That forbids a certificate for ${hostname}.`,
  other_method: (foundAt, { hostname, method }) =>
    `The CAA record of ${foundAt} names our certificate authority, but its validationmethods do not include ${method ?? 'our method'}, which we use for ${hostname}.`,
  unknown_critical: (foundAt, { hostname }) =>
    `Our certificate authority does not support a critical CAA record of ${foundAt}, so it cannot issue for ${hostname}.`,
};

function repair(place: string, finding: Blocks): string {
  const { ours, foundAt, publishedAt = foundAt, toRemove } = finding;
  if (ours) {
    return `Nothing for you to do: the records of ${place} are those of our target. We fix them and check again automatically.`;
  }
  const at = foreignName(publishedAt);
  return toRemove === undefined ? addition(at, finding) : removal(at, toRemove, finding);
}

/** The equally restrictive record first: the restrictions are the customer's policy. */
function addition(at: string, { toAdd, orToAdd, reason, method }: Blocks): string {
  const bare = withoutParameters(toAdd);
  const wider = bare === toAdd ? '' : ` – or, for any account and method: ${bare}`;
  const other =
    orToAdd === undefined ? '' : ` – or, for our second certificate authority: ${listed(orToAdd)}`;
  const add = `Add this CAA record at ${at}, beside the existing ones: ${toAdd}${wider}${other}`;
  return reason === 'other_method' && method !== undefined
    ? `${add} – or add ${method} to the validationmethods of the existing record.`
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
