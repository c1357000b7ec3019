/** Words for CAA: why our certificate authority may not issue, and the record that lets it. */
import type { CaaDenial } from '../caa/caa-set.ts';
import type { CaaWarning, FindingOf } from './findings.ts';
import { foreign, listed, outcomes, type Words, type WordsFor } from './words.ts';

export const caaWords: WordsFor<'caa_blocks' | 'caa_unknown' | 'caa_warns'> = {
  caa_blocks: (finding) => {
    const { records, reason, rfc, toRemove } = finding;
    const foundAt = foreign(finding.foundAt);
    const strict =
      rfc === 'allow'
        ? '. By the RFC alone they would allow it; our authority reads them more strictly'
        : '';
    return {
      summary: summaries[reason ?? 'other_authority'](foundAt, finding),
      expected: `CAA ${finding.toAdd}`,
      found: `At ${foundAt}: ${listed(records)}${strict}`,
      action:
        toRemove === undefined ? addition(foundAt, finding) : removal(foundAt, toRemove, finding),
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
  other_authority: (foundAt, { hostname }) =>
    `The CAA records of ${foundAt} do not let our certificate authority issue for ${hostname}.`,
  nobody: (foundAt, { hostname }) =>
    `The CAA records of ${foundAt} let no certificate authority at all issue for ${hostname}.`,
  malformed: (foundAt, { hostname }) =>
    `A CAA record of ${foundAt} cannot be understood as it is written, which forbids a certificate for ${hostname}.`,
  other_account: (foundAt, { hostname }) =>
    `The CAA record of ${foundAt} names our certificate authority, but another account there than ours (accounturi), which forbids it for ${hostname}.`,
  other_method: (foundAt, { hostname, method }) =>
    `The CAA record of ${foundAt} names our certificate authority, but its validationmethods leave out ${method ?? 'our method'}, by which we prove ${hostname}.`,
  unknown_critical: (foundAt, { hostname }) =>
    `A CAA record of ${foundAt} is marked critical and not understood by our certificate authority, which forbids any certificate for ${hostname}.`,
};

function addition(foundAt: string, { toAdd, reason, method }: Blocks): string {
  const add = `Add this CAA record at ${foundAt}, beside those that are there: ${toAdd}`;
  return reason === 'other_method' && method !== undefined
    ? `${add} – or add ${method} to the validationmethods of the record that is there.`
    : add;
}

function removal(foundAt: string, toRemove: readonly string[], { toAdd }: Blocks): string {
  return `Delete from ${foundAt}, or set to flags 0: ${listed(toRemove)}. If an issue record remains there, add: ${toAdd}`;
}

function unknown({ hostname, outcome, ...finding }: FindingOf<'caa_unknown'>): Words {
  const name = foreign(finding.name);
  return {
    summary: `The CAA records of ${name} could not be read, which a certificate authority must take for a refusal to issue for ${hostname}.`,
    expected: `An answer to the CAA question for ${name}, be it that there is no such record.`,
    found: `${name}: ${outcomes[outcome]}`,
    action:
      outcome === 'nxdomain'
        ? 'Nothing to change: a top-level domain that is said to be missing is a fault on the way. We keep asking by ourselves.'
        : `Ask the DNS provider of ${name} why its servers do not answer CAA questions (type 257). We keep asking by ourselves.`,
  };
}

const advice: { readonly [W in CaaWarning]: string } = {
  rfc_denies:
    'By the RFC alone these records forbid our authority, which reads them more kindly today: write the record without parameters.',
  account_untold:
    'The record allows one account at the authority, and ours is not known yet: take accounturi out until it is, or the certificate may be refused.',
  misspelt:
    'One record seems meant for our authority, but allows nobody as it is written: correct or delete it.',
};
