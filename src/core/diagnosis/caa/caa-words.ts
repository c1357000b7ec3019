/** Words for what is odd about a set of CAA records: slips in how they are written, and what could still go wrong. */
import type { CaaWarning } from './caa.ts';
import type { CaaHint } from './caa-set.ts';

/** What to do about each reservation; total over the codes. */
export const advice: { readonly [W in CaaWarning]: string } = {
  rfc_denies:
    'By the RFC alone these records forbid our authority, which reads them more kindly today: write the record without parameters.',
  account_untold:
    'The record allows one account at the authority, and ours is not known yet: take accounturi out until it is, or the certificate may be refused.',
  misspelt:
    'One record seems meant for our authority, but allows nobody as it is written: correct or delete it.',
};

/** Total over the codes; `toAdd` is the record as it should be. */
export const caaHintWords: { readonly [H in CaaHint]: (toAdd: string) => string } = {
  lower_case: (toAdd) =>
    `A record seems meant for our authority, which reads its name in lower case only. Correct it to: ${toAdd}`,
  no_trailing_dot: (toAdd) =>
    `A record seems meant for our authority, but has a dot behind its name. Correct it to: ${toAdd}`,
  bare_name: (toAdd) =>
    `A record seems meant for our authority, but has more than its bare name. Correct it to: ${toAdd}`,
};
