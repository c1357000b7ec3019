/** An apex, where no CNAME belongs: it is judged by the addresses that it shows. */

import type { Finding } from './findings.ts';
import { addressesInTheWay, choicesIn, type Look, unique, wrongAliases } from './look.ts';
import { recordsOf } from './observation.ts';
import { ownAddresses } from './pointing.ts';
import { isProxiedHere } from './pointing-checks.ts';

type Family = { readonly ours: readonly string[]; readonly others: readonly string[] };

/** Also one to the target: beside the SOA and NS records it breaks the zone (RFC 1034, 3.6.2; RFC 1912, 2.4). */
export function cnameAtApex(look: Look): Finding | undefined {
  const [found] = wrongAliases(look);
  if (found === undefined || !look.apex) return undefined;
  return { code: 'cname_at_apex', ...look.wanted, found, ...choicesIn(look) };
}

/** Foreign addresses: beside ours, in place of one family of ours, or alone. Exactly one finding says it. */
export function foreignAtApex(look: Look): Finding | undefined {
  if (!look.apex || isProxiedHere(look)) return undefined;
  const about = look.wanted;
  const [a, aaaa] = [familyOf(look, 'a'), familyOf(look, 'aaaa')];
  const others = [...a.others, ...aaaa.others];
  const ours = [...a.ours, ...aaaa.ours];
  if (others.length === 0) return undefined;
  if (ours.length === 0) {
    return { code: 'apex_elsewhere', ...about, addresses: unique(others), ...choicesIn(look) };
  }
  if ([a, aaaa].some((family) => family.ours.length > 0 && family.others.length > 0)) {
    return { code: 'apex_mixed', ...about, ours: unique(ours), others: unique(others) };
  }
  // One family is ours, the other is not. Certificate authorities, like browsers, try IPv6 first.
  const code = a.others.length > 0 ? 'conflicting_a' : 'conflicting_aaaa';
  return { code, ...about, addresses: unique(others), ours: [] };
}

/**
 * Nothing foreign, but not all of ours: less to fall back on. That IPv6 is not shown at all is no fault; without IPv4
 * many visitors find nothing.
 */
export function apexPartial(look: Look): Finding | undefined {
  if (!look.apex || look.pointing !== 'right') return undefined;
  const right = look.servers.filter(({ pointing }) => pointing.kind === 'right');
  const [a, aaaa] = (['a', 'aaaa'] as const).map((family) =>
    right.flatMap(({ view }) => recordsOf(view[family])),
  );
  const addresses = unique([...(a ?? []), ...(aaaa ?? [])]);
  const isShown = ownAddresses(addresses);
  const wanted = (own: string) => !own.includes(':') || aaaa?.length !== 0;
  const missing = look.observation.targetAddresses.filter((own) => wanted(own) && !isShown(own));
  if (missing.length === 0) return undefined;
  return { code: 'apex_partial', ...look.wanted, addresses, missing: unique(missing) };
}

function familyOf(look: Look, family: 'a' | 'aaaa'): Family {
  const addresses = addressesInTheWay(look, family);
  return {
    ours: addresses.filter(look.isOwn),
    others: addresses.filter((address) => !look.isOwn(address)),
  };
}
