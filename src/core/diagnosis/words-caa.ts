/** Words for CAA: why our certificate authority may not issue, and the record that lets it. */
import type { CaaDenial } from './caa/caa-set.ts';
import { withoutParameters } from './caa/caa-value.ts';
import type { CaaWarning, FindingOf } from './findings.ts';
import { foreign, foreignName, listed, outcomes, type Words, type WordsFor } from './words.ts';

export const caaWords: WordsFor<'caa_blocks' | 'caa_unknown' | 'caa_warns'> = {
  caa_blocks: (finding) => {
    const { records, reason, rfc } = finding;
    const place = placeOf(finding.foundAt, finding.publishedAt);
    const strict =
      rfc === 'allow'
        ? '. By the RFC alone they would allow it; our authority reads them more strictly'
        : '';
    return {
      summary: summaries[reason ?? 'other_authority'](place, finding),
      expected: `CAA ${[finding.toAdd, ...(finding.orToAdd ?? [])].join(' or ')}`,
      found: `At ${place}: ${listed(records)}${strict}`,
      action: repair(place, finding),
    };
  },
  caa_unknown: unknown,
  caa_warns: ({ hostname, records, reasons, ...finding }) => {
    const foundAt = foreign(finding.foundAt);
    return {
      summary: `Our certificate authority may issue for ${hostname}, but the CAA records of ${foundAt} need a look.`,
      expected: 'A CAA record that names our authority alone, without parameters, or none at all.',
      found: `At ${foundAt}: ${listed(records)}`,
      action: reasons.map((reason) => advice[reason]).join(' '),
    };
  },
};

type Blocks = FindingOf<'caa_blocks'>;

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

/** The name that holds the records, and the one it stands for. */
function placeOf(name: string, publishedAt: string | undefined): string {
  return publishedAt === undefined
    ? foreignName(name)
    : `${foreignName(publishedAt)}, where ${foreignName(name)} leads`;
}

function repair(place: string, finding: Blocks): string {
  const { ours, foundAt, publishedAt = foundAt, toRemove } = finding;
  if (ours) {
    return `Nothing for you to do: the records of ${place} come from our own target. We correct them and look again by ourselves.`;
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

function unknown(finding: Unknown): Words {
  const { hostname, outcome, asked } = finding;
  const name = placeOf(finding.name, finding.publishedAt);
  const by = asked === undefined ? '' : ', asked of our resolvers';
  return {
    summary: `The CAA records of ${name} could not be read, which a certificate authority must take for a refusal to issue for ${hostname}.`,
    expected: `An answer to the CAA question for ${name}, be it that there is no such record.`,
    found: `${name}${by}: ${outcomes[outcome]}`,
    action: whomToAsk(finding),
  };
}

type Unknown = FindingOf<'caa_unknown'>;

/**
 * Whether it is about our own target, or our resolvers are all that has failed: those that were asked about a registry's
 * name, or decline to answer. One that fails or is silent while it knows the name itself may only pass on what the zone does.
 */
export function isOurQuestion({ ours, asked, outcome }: Unknown): boolean {
  return ours === true || asked === 'registry' || (asked === 'resolver' && outcome === 'refused');
}

function whomToAsk(finding: Unknown): string {
  const { ours, name, publishedAt = name, asked } = finding;
  const at = foreignName(publishedAt);
  if (ours) {
    return 'Nothing for you to do: these records are those of our own target. We keep asking by ourselves.';
  }
  if (isOurQuestion(finding)) {
    const whose = asked === 'registry' ? `${at} is a registry’s, and ` : '';
    return `Nothing for you to do: ${whose}it is our own resolvers that could not tell. We keep asking by ourselves.`;
  }
  return asked === 'resolver'
    ? `Nothing to change yet: we keep asking by ourselves. If it lasts, ask the DNS provider of ${at} whether its servers answer CAA questions (type 257).`
    : `Ask the DNS provider of ${at} why its servers do not answer CAA questions (type 257). We keep asking by ourselves.`;
}

const advice: { readonly [W in CaaWarning]: string } = {
  rfc_denies:
    'By the RFC alone these records forbid our authority, which reads them more kindly today: write the record without parameters.',
  account_untold:
    'The record allows one account at the authority, and ours is not known yet: take accounturi out until it is, or the certificate may be refused.',
  misspelt:
    'One record seems meant for our authority, but allows nobody as it is written: correct or delete it.',
};
