/** Words for the likely slip behind a finding. */

import { recordFor } from '../names/instructions.ts';
import type { CaaHint } from './caa/caa-set.ts';
import type { Finding, Hint, HintCode } from './findings.ts';
import { foreign, foreignName, lines, type Wanted } from './words.ts';

/** A hint in words; `text` is one or two sentences. */
export type ExplainedHint = { readonly code: HintCode | CaaHint; readonly text: string };

/** The hints of a finding in words; none where it has none. */
export function hintsIn(finding: Finding): readonly ExplainedHint[] {
  if (finding.code === 'caa_blocks') {
    const { hint, toAdd } = finding;
    return hint === undefined ? [] : [{ code: hint, text: caaHintWords[hint](toAdd) }];
  }
  const hints = 'hints' in finding ? (finding.hints ?? []) : [];
  return 'target' in finding ? hints.map((hint) => inWords(hint, finding)) : [];
}

type HintOf<C extends HintCode> = Hint & { readonly code: C };

/** Generic, so that the compiler sees that a hint and its words belong together. */
function inWords<C extends HintCode>(hint: HintOf<C>, wanted: Wanted): ExplainedHint {
  return { code: hint.code, text: hintWords[hint.code](hint, wanted) };
}

/** Total over the codes. */
export const hintWords: {
  readonly [C in HintCode]: (hint: HintOf<C>, wanted: Wanted) => string;
} = {
  cname_indirect: ({ via }, { target }) =>
    `It does arrive at ${target}, but by a detour: ${lines(via.map(foreignName), ' → ')}. Detours break without notice; enter the name itself.`,
  doubled_name: ({ name }, wanted) =>
    `The record exists as ${foreignName(name)}: your provider adds the domain by itself. Change its name to “${recordFor(wanted).name}”.`,
  wrong_host: ({ name }, { hostname }) =>
    `The record stands at ${foreignName(name)} instead of ${hostname}. Move it, or add ${foreignName(name)} here.`,
  relative_target: ({ found }, { target }) =>
    `Your provider added the domain to the value, which makes ${foreignName(found)}. Write the value with a dot at its end: ${target}.`,
  txt_instead_of_cname: ({ text }, wanted) =>
    `There is a TXT record that names our target: “${foreign(text)}”. Delete it; the type has to be ${recordFor(wanted).type}, the value ${wanted.target}.`,
  wildcard_masks: ({ wildcard }, { hostname }) =>
    `What shows here comes from the wildcard ${foreign(wildcard)}. A record of its own for ${hostname} goes before it; the wildcard may stay.`,
  trailing_junk: ({ found }, { target }) =>
    `The value was pasted with something around it: ${foreignName(found)}. Enter ${target} alone, without https://, slashes, quotes or blanks.`,
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
