/** The likely slip behind a finding, read from what stands at and around the host name. */

import { printable } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import { isRelativeTarget, isTargetWithJunk, zonesAbove } from './alias-text.ts';
import type { Hint } from './findings.ts';
import { byText, type Look, unique } from './look.ts';
import { type NearbyName, recordsOf } from './observation.ts';
import { isSameName } from './pointing.ts';

/** Of a TXT record that should have been a CNAME. */
const TXT_MAX = 120;

/** The hints as a finding has them: nothing at all where there are none. */
export function hinted(hints: readonly Hint[]): { readonly hints?: readonly Hint[] } {
  return hints.length === 0 ? {} : { hints };
}

/** Where the record may have gone instead. */
export function hintsForMissing(look: Look, seen: 'nxdomain' | 'nodata'): readonly Hint[] {
  const { nearby } = look.observation;
  const { target } = look.expected;
  const leadsToTarget = ({ cname }: NearbyName) =>
    recordsOf(cname).some((alias) => isSameName(alias, target));
  const doubled = nearby.doubled !== null && leadsToTarget(nearby.doubled) ? nearby.doubled : null;
  const text = targetInTexts(look);
  return [
    ...(doubled === null ? [] : [{ code: 'doubled_name', name: doubled.name } as const]),
    ...nearby.wrongHosts
      .filter(leadsToTarget)
      .map(({ name }) => ({ code: 'wrong_host', name }) as const)
      .sort(byText(({ name }) => name)),
    ...(text === undefined ? [] : [{ code: 'txt_instead_of_cname', text } as const]),
    ...wildcardHint(look, isBareWildcard(look, seen)),
  ];
}

/** How somebody who meant the target came to write this alias. */
export function hintsForAlias(look: Look, found: string): readonly Hint[] {
  const { hostname, target } = look.expected;
  const { chain, sibling } = look.observation.nearby;
  const zones = unique([...zonesAbove(hostname, splitAtZone(hostname).zone), look.zone]);
  const indirect = chain?.end === 'target' && isChainOf(found, chain.names);
  const same = recordsOf(sibling?.cname ?? null).some((alias) => isSameName(alias, found));
  return [
    ...(indirect
      ? [
          {
            code: 'cname_indirect',
            via: chain.names.filter((name) => !isSameName(name, target)),
          } as const,
        ]
      : []),
    ...(isRelativeTarget(found, target, zones)
      ? [{ code: 'relative_target', found } as const]
      : []),
    ...(isTargetWithJunk(found, target, zones) ? [{ code: 'trailing_junk', found } as const] : []),
    ...wildcardHint(look, same),
  ];
}

/** Whether the addresses in the way are those of a wildcard. Only A is asked of the sibling. */
export function hintsForAddresses(look: Look, addresses: readonly string[]): readonly Hint[] {
  const beside = recordsOf(look.observation.nearby.sibling?.a ?? null);
  const same = beside.length > 0 && beside.every((address) => addresses.includes(address));
  return wildcardHint(look, same);
}

/** The wildcard that would answer for the host name (RFC 4592), e.g. `*.example.com`. */
export function wildcardFor(hostname: string): string {
  return `*${hostname.slice(hostname.indexOf('.'))}`;
}

/** Whether a chain of aliases begins with this one. */
export function isChainOf(found: string, [first]: readonly string[]): boolean {
  return first !== undefined && isSameName(first, found);
}

/** Foreign text as evidence: fit to be stored and read, and of at most `lengthMax` characters. */
export function foreignText(text: string, lengthMax: number): string {
  // Escapes make a text longer, so it is cut again behind them.
  return [...printable(text, lengthMax - 1)].slice(0, lengthMax).join('');
}

/** No wildcard reaches an apex: what stands beside it belongs to others. */
function wildcardHint({ apex, expected }: Look, answers: boolean): readonly Hint[] {
  return answers && !apex
    ? [{ code: 'wildcard_masks', wildcard: wildcardFor(expected.hostname) }]
    : [];
}

/**
 * A random name exists only by a wildcard: one with records of other types answers for our name, too. Servers that give
 * NODATA for every missing name do so only where signatures are asked for (RFC 9824), which observers do not.
 */
function isBareWildcard(look: Look, seen: 'nxdomain' | 'nodata'): boolean {
  const { sibling } = look.observation.nearby;
  return seen === 'nodata' && sibling?.cname.kind === 'nodata' && sibling.a.kind === 'nodata';
}

function targetInTexts({ wrong, expected: { target } }: Look): string | undefined {
  const texts = unique(wrong.flatMap(({ view }) => recordsOf(view.txt)));
  const found = texts.find((text) => text.toLowerCase().includes(target.toLowerCase()));
  return found === undefined ? undefined : foreignText(found, TXT_MAX);
}
