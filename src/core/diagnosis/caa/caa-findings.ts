import { splitAtZone } from '../../names/zone.ts';
import type { Actor, FamilyOf, FindingIn } from '../finding.ts';
import { type DiagnosisInput, unique } from '../input.ts';
import { isSameName } from '../server-pointing.ts';
import { foreign, foreignName, listed, outcomes, type Words } from '../words.ts';
import {
  advice,
  type CaaDifference,
  type CaaFailure,
  type CaaWarning,
  caaHintWords,
} from './caa.ts';
import { caaPlace, differingActor, isSplit, saidByEach, splitWords } from './caa-differ.ts';
import type { CaaDenial, CaaHint } from './caa-set.ts';
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

function caaBlocks(input: DiagnosisInput): FindingIn<CaaFinding, 'caa_blocks'> | undefined {
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
}: DiagnosisInput): FindingIn<CaaFinding, 'caa_warns'> | undefined {
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

type Blocks = FindingIn<CaaFinding, 'caa_blocks'>;

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

// Text for a CAA query without an answer.

type CaaUnknownFinding = {
  readonly code: 'caa_unknown';
  readonly hostname: string;
  readonly name: string;
  /** As in `caa_blocks`. */
  readonly publishedAt?: string;
  readonly ours?: true;
  /**
   * Missing: the servers of the name's own zone. `resolver`: our resolvers instead. `registry`: our
   * resolvers, for a name above the registrable domain.
   */
  readonly asked?: 'resolver' | 'registry';
  /** `nxdomain` only for a top-level domain, where it cannot be correct. */
  readonly outcome: CaaFailure;
};

function actorForUnknown(finding: CaaUnknownFinding): Actor {
  if (isOurQuestion(finding)) return 'platform';
  return finding.outcome === 'endless' ? 'customer' : 'dns_provider';
}

/** SERVFAIL or a timeout can come from the zone; a resolver that refuses is our problem. */
function isOurQuestion({ ours, asked, outcome }: CaaUnknownFinding): boolean {
  return (
    ours === true ||
    asked === 'registry' ||
    outcome === 'cut_off' ||
    (asked === 'resolver' && outcome === 'refused')
  );
}

const failures: { readonly [O in CaaFailure]: string } = {
  ...outcomes,
  endless: 'an alias loop, or a chain that is too long',
  cut_off: 'not read, because of our limits for one check',
};

function unknownWords(finding: CaaUnknownFinding): Words {
  const { hostname, outcome, asked } = finding;
  const name = caaPlace(finding.name, finding.publishedAt);
  const by = asked === undefined ? '' : ' (from our resolvers)';
  return {
    summary:
      outcome === 'cut_off'
        ? `We could not read the CAA records of ${name} within our own limits for one check. Without them, we do not order a certificate for ${hostname}.`
        : `The CAA records of ${name} could not be read. A certificate authority must treat that as a refusal to issue for ${hostname}.`,
    expected: `An answer to the CAA query for ${name}: records, or none.`,
    found: `${name}${by}: ${failures[outcome]}`,
    action: whatToDo(finding),
  };
}

function whatToDo(finding: CaaUnknownFinding): string {
  const { ours, name, publishedAt = name, asked, outcome } = finding;
  const at = foreignName(publishedAt);
  if (ours) {
    return 'Nothing for you to do: these records are those of our target. We check again automatically.';
  }
  if (outcome === 'cut_off') {
    return `Nothing for you to do: we check again automatically. If ${at} has very many or very long CAA records, keep only those you need.`;
  }
  if (isOurQuestion(finding)) {
    const whose = asked === 'registry' ? `${at} belongs to a registry, and ` : '';
    return `Nothing for you to do: ${whose}our resolvers could not read it. We check again automatically.`;
  }
  if (outcome === 'endless') {
    return `At the DNS provider of ${at}, change the CNAME record of ${at} so that it does not lead back to itself, or delete it.`;
  }
  return asked === 'resolver'
    ? `Nothing to change yet: we check again automatically. If it lasts, ask the DNS provider of ${at} whether its servers answer CAA queries (type 257).`
    : `Ask the DNS provider of ${at} why its servers do not answer CAA queries (type 257). We check again automatically.`;
}
