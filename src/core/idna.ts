/** From labels in any script to A-labels (UTS 46), and plain words for labels that cannot become one. */
import { toASCII, toUnicode } from 'tr46';
import { fullStops } from './pasted-hostname.ts';
import { printable } from './printable.ts';

/** UTS 46, 4.2, with every check on; lengths are checked here, to name the label that is too long. */
const rules = {
  checkBidi: true,
  checkHyphens: true,
  checkJoiners: true,
  transitionalProcessing: false,
  useSTD3ASCIIRules: true,
} as const;

const LABEL_OCTETS_MAX = 63;

export type AsciiName =
  | { readonly ok: true; readonly ascii: string }
  | { readonly ok: false; readonly reason: string };

/** The name as lower-case A-labels, or one sentence about the first label that is wrong. */
export function toAsciiName(host: string): AsciiName {
  const typed = host.split(fullStops);
  const strange = typed.find((label) => !isNormalPunycode(label));
  if (strange !== undefined) return { ok: false, reason: sentence(strange, badPunycode) };
  const ascii = toASCII(host, rules);
  if (ascii === null) return { ok: false, reason: reasonAgainst(typed) };
  // Characters such as "⒈" become labels of their own only now.
  for (const label of ascii.split('.')) {
    const words = wordsAgainst(label);
    if (words !== undefined) return { ok: false, reason: sentence(label, words) };
  }
  return { ok: true, ascii };
}

/** The name as people read it. */
export function toUnicodeName(ascii: string): string {
  return toUnicode(ascii, rules).domain;
}

const badPunycode = 'starts with “xn--” but is not Punycode in its normal form';

/** The first that holds is said. Labels are compared in lower case. */
const labelFaults: readonly {
  readonly holds: (label: string) => boolean;
  readonly words: string;
}[] = [
  { holds: (label) => label === '', words: 'is empty: two dots follow each other' },
  { holds: (label) => label.length > LABEL_OCTETS_MAX, words: 'is longer than 63 characters' },
  { holds: (label) => /\s/u.test(label), words: 'contains a space' },
  { holds: (label) => label.includes('_'), words: 'contains an underscore' },
  { holds: (label) => /^-|-$/.test(label), words: 'begins or ends with a hyphen' },
  {
    // Reserved LDH labels (RFC 5890, 2.3.1); certificate authorities refuse them.
    holds: (label) => /^(?!xn)..--/u.test(label),
    words: 'has hyphens in the third and fourth place, which is reserved',
  },
  {
    // RFC 952 and RFC 1123, 2.1, which STD 3 stands for.
    holds: (label) => /[^a-z0-9-]/.test(label) && /^[\0-\x7f]*$/.test(label),
    words: 'may hold letters, digits and hyphens only',
  },
];

function wordsAgainst(label: string): string | undefined {
  return labelFaults.find(({ holds }) => holds(label))?.words;
}

/** Why UTS 46 refuses a name: some label alone, or the direction of writing of all of them together. */
function reasonAgainst(labels: readonly string[]): string {
  for (const label of labels) {
    const words = wordsAgainst(label.normalize('NFKC').toLowerCase());
    if (words !== undefined) return sentence(label, words);
    if (toASCII(label, rules) === null) {
      return sentence(label, 'holds characters that are not allowed there in a domain name');
    }
  }
  return 'The labels mix directions of writing in a way that domain names do not allow.';
}

/** One A-label has one spelling (RFC 5891, 4.4): what decodes must encode to itself again. */
function isNormalPunycode(label: string): boolean {
  const lower = label.toLowerCase();
  return !lower.startsWith('xn--') || toASCII(lower, rules) === lower;
}

function sentence(label: string, words: string): string {
  return label === '' ? `A label ${words}.` : `The label “${printable(label, 40)}” ${words}.`;
}
