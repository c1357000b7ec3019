/** The registrable domain of a name, by the Public Suffix List. */
import { parse } from 'tldts';

/** Reserved for tests (RFC 6761, 6.2 and 6.5). Test labs use them, so they count as suffixes. */
const testLabTlds: ReadonlySet<string> = new Set(['test', 'example']);

/** With the document that reserves it. Covers everything below the name. */
const specialUse: ReadonlyMap<string, string> = new Map([
  ['localhost', 'RFC 6761'],
  ['invalid', 'RFC 6761'],
  ['local', 'RFC 6762'],
  ['onion', 'RFC 7686'],
  ['alt', 'RFC 9476'],
  ['internal', 'ICANN resolution 2024.07.29.06'],
  // home.arpa (RFC 8375), in-addr.arpa and others are infrastructure.
  ['arpa', 'RFC 3172'],
]);

export type ZonePlace = {
  /** The registrable domain, by the ICANN section of the Public Suffix List. */
  readonly zone: string;
  /** `@` for the zone itself. */
  readonly label: string;
  readonly apex: boolean;
};

/** `source`: the document that reserves the name. */
export type Suffix =
  | { readonly kind: 'registrable' }
  | { readonly kind: 'public_suffix' }
  | { readonly kind: 'special_use'; readonly tld: string; readonly source: string }
  | { readonly kind: 'unknown_tld'; readonly tld: string };

export function isTestLabTld(tld: string): boolean {
  return testLabTlds.has(tld);
}

/** A-labels, lower case. Never throws. */
export function suffixOf(ascii: string): Suffix {
  const tld = ascii.slice(ascii.lastIndexOf('.') + 1);
  const source = specialUse.get(tld);
  if (source !== undefined) return { kind: 'special_use', tld, source };
  const { isIcann, domain } = parse(ascii, icannOnly);
  if (isIcann !== true && !isTestLabTld(tld)) return { kind: 'unknown_tld', tld };
  return domain === null ? { kind: 'public_suffix' } : { kind: 'registrable' };
}

/** A name without a registrable domain is its own zone. */
export function splitAtZone(ascii: string): ZonePlace {
  const zone = parse(ascii, icannOnly).domain ?? ascii;
  const apex = ascii === zone;
  return { zone, label: apex ? '@' : ascii.slice(0, -zone.length - 1), apex };
}

/** Zones in the private section (github.io) are ordinary customer zones. */
export const icannOnly = {
  allowPrivateDomains: false,
  detectIp: false,
  extractHostname: false,
  mixedInputs: false,
  validateHostname: false,
} as const;
