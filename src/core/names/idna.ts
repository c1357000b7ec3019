/** Converts labels in any script to A-labels (UTS 46), and explains why a label is invalid. */
import { toASCII, toUnicode } from 'tr46';
import { printable } from './printable.ts';

/** UTS 46, 4.2. Lengths are checked below, to name the label that is too long. */
const rules = {
  checkBidi: true,
  checkHyphens: true,
  checkJoiners: true,
  transitionalProcessing: false,
  useSTD3ASCIIRules: true,
} as const;

const LABEL_OCTETS_MAX = 63;

/** `reason`: one sentence for the customer, with foreign text made printable. */
export type AsciiName =
  | { readonly ok: true; readonly ascii: string }
  | { readonly ok: false; readonly reason: string };

/** Lower-case A-labels of at most 63 octets. Never throws. */
export function toAsciiName(host: string): AsciiName {
  const typed = host.split(fullStops);
  const strange = typed.find((label) => !isNormalPunycode(label));
  if (strange !== undefined) return { ok: false, reason: sentence(strange, badPunycode) };
  const ascii = toASCII(host, rules);
  if (ascii === null) return { ok: false, reason: reasonAgainst(typed) };
  // Characters such as "⒈" contain a dot only after mapping.
  for (const label of ascii.split('.')) {
    const words = wordsAgainst(label);
    if (words !== undefined) return { ok: false, reason: sentence(label, words) };
  }
  return { ok: true, ascii };
}

/** Part of a name as typed; only complete labels can be converted to ASCII. */
export function partOfName(typed: string): string {
  const name = toAsciiName(typed.trim());
  return name.ok ? name.ascii : typed.trim().toLowerCase();
}

/** Expects A-labels that `toAsciiName` accepted. */
export function toUnicodeName(ascii: string): string {
  return toUnicode(ascii, rules).domain;
}

const badPunycode = 'starts with “xn--” but is not Punycode in its normal form';

/** In order of precedence. */
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
    // Reserved LDH labels (RFC 5890, 2.3.1); CAs refuse them.
    holds: (label) => /^(?!xn)..--/u.test(label),
    words: 'has hyphens in the third and fourth place, which is reserved',
  },
  {
    // RFC 952 and RFC 1123, 2.1 (STD 3).
    holds: (label) => /[^a-z0-9-]/.test(label) && /^[\0-\x7f]*$/.test(label),
    words: 'can contain only letters, digits and hyphens',
  },
];

function wordsAgainst(label: string): string | undefined {
  return labelFaults.find(({ holds }) => holds(label))?.words;
}

function reasonAgainst(labels: readonly string[]): string {
  for (const label of labels) {
    const words = wordsAgainst(label.normalize('NFKC').toLowerCase());
    if (words !== undefined) return sentence(label, words);
    if (toASCII(label, rules) === null) {
      return sentence(label, 'contains characters that a domain name cannot have there');
    }
  }
  return 'The labels mix writing directions in a way that domain names do not allow.';
}

/** An A-label has one spelling (RFC 5891, 4.4), so it must round-trip. */
function isNormalPunycode(label: string): boolean {
  const lower = label.toLowerCase();
  return !lower.startsWith('xn--') || toASCII(lower, rules) === lower;
}

function sentence(label: string, words: string): string {
  return label === '' ? `A label ${words}.` : `The label “${printable(label, 40)}” ${words}.`;
}

/** `host`: not empty, without a trailing dot, otherwise unchecked. */
export type PastedHost =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly reason: string };

/** The label separators of UTS 46. */
const fullStops = /[.\u3002\uff0e\uff61]/u;

/** More than any name that could shrink to 253 octets; limits the cost of hostile input. */
const CHARACTERS_MAX = 1_000;

const schemeBefore = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i;
const portAfter = /^([^:]*):(\d{0,5})$/;

/**
 * Removes surrounding space, scheme, path, port and one trailing dot. Refuses a user name: an email
 * address is not a host name. Never throws.
 */
export function hostInPasted(text: string): PastedHost {
  const [authority = ''] = text.trim().replace(schemeBefore, '').split(/[/?#]/, 1);
  if (authority.includes('@')) {
    return refused('This looks like an email address or a user name. Enter the host name.');
  }
  // One colon precedes a port; more mean an IPv6 address.
  if (authority.startsWith('[') || authority.split(':').length > 2) {
    return refused('This looks like an IPv6 address. Enter a host name.');
  }
  const host = withoutPort(authority);
  if (host === undefined) return refused('The part after the colon is not a port number.');
  return checked(host.trim());
}

function withoutPort(authority: string): string | undefined {
  if (!authority.includes(':')) return authority;
  const [, host, port] = portAfter.exec(authority) ?? [];
  return Number(port ?? Number.NaN) <= 65_535 ? host : undefined;
}

function checked(host: string): PastedHost {
  if (host === '') return refused('The host name is empty.');
  if (host.length > CHARACTERS_MAX) {
    return refused('The host name is longer than the 253 octets that the DNS allows.');
  }
  return { ok: true, host: fullStops.test(host.slice(-1)) ? host.slice(0, -1) : host };
}

function refused(reason: string): PastedHost {
  return { ok: false, reason };
}
