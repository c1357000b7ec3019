/** Extended DNS errors of resolvers (RFC 8914). */

import { printable } from '../names/printable.ts';
import { foreignText } from './hints.ts';
import { byText } from './input.ts';
import type { ExtendedError } from './observation.ts';

/** By INFO-CODE, 0 to 24 (RFC 8914, section 4). 3 and 19: stale data (RFC 8767). */
export const extendedErrorWords: readonly string[] = [
  'another error',
  'the resolver does not support the DNSSEC key algorithm',
  'the resolver does not support the DNSSEC digest',
  'the name servers did not answer, so the resolver returned a stale answer',
  'the answer was replaced by a policy',
  'DNSSEC could not be validated either way',
  'the DNSSEC signatures do not match',
  'the DNSSEC signatures have expired',
  'the DNSSEC signatures are not valid yet',
  'the DS record at the registrar matches no key of the zone',
  'the zone should be signed, but signatures are missing',
  'no key of the zone is marked as a zone key',
  'the DNSSEC proof that a record is missing is broken',
  'an earlier failure was cached',
  'the resolver is not ready yet',
  'the resolver’s operator blocks the name',
  'the resolver must block the name for legal reasons',
  'the resolver’s user filters the name',
  'the resolver does not serve us',
  'the name servers did not answer, so the resolver returned a stale “does not exist”',
  'a name server does not serve the zone',
  'the query is not supported',
  'none of the name servers could be reached',
  'the network between the resolver and a name server failed',
  'a name server sent a malformed answer',
];

/** Fits a typical text; in characters. */
const TEXT_LENGTH_MAX = 200;

export function isBogus(code: number): boolean {
  return code >= 6 && code <= 12;
}

/** A filter changed the answer: the domain is not the cause. */
export function isFilter(code: number): boolean {
  return code === 4 || (code >= 15 && code <= 18);
}

/** Resolvers often send the general code 6 alongside the specific cause. */
export function bogusCause(errors: readonly ExtendedError[]): ExtendedError | undefined {
  const bogus = errors.filter(({ code }) => isBogus(code));
  return bogus.find(({ code }) => code !== 6) ?? bogus[0];
}

/** Escapes the resolver's text: safe to display. */
export function describeExtendedError({ code, text }: ExtendedError): string {
  const words = extendedErrorWords[code] ?? 'an unknown error';
  const own = text === '' ? '' : `: “${printable(text, TEXT_LENGTH_MAX)}”`;
  return `${words} (EDE ${code}${own})`;
}

/** One per code, sorted by code: their texts vary by server and time. */
export function foreignErrors(
  resolvers: readonly { readonly errors: readonly ExtendedError[] }[],
): readonly ExtendedError[] {
  const all = resolvers.flatMap(({ errors }) => errors).sort(byText(({ text }) => text));
  const byCode = new Map(
    all.map(({ code, text }) => [code, { code, text: foreignText(text, TEXT_LENGTH_MAX) }]),
  );
  return [...byCode.values()].sort((one, other) => one.code - other.code);
}
