/** What is wrong with the record itself: missing, something else in its place, or not at every server. */

import { shortList } from '../names/printable.ts';
import type { Finding } from './findings.ts';
import {
  hinted,
  hintsForAddresses,
  hintsForAlias,
  hintsForMissing,
  isChainOf,
  wildcardFor,
} from './hints.ts';
import {
  addressesInTheWay,
  byText,
  choicesIn,
  type Look,
  unique,
  wrongAliases,
  zoneServers,
} from './look.ts';
import { recordsOf, type ServerView } from './observation.ts';
import { isOther, isSameName, ownAddresses } from './pointing.ts';
import { areCloudflareServers, proxyOf } from './proxies.ts';

/** Records named of what one server shows; the rest is counted. */
const SHOWN_MAX = 3;

/** Some servers of the zone have the record already, or still. */
export function nameServersDisagree(look: Look): Finding | undefined {
  if (!look.disagree) return undefined;
  const { servers } = look;
  const right = servers.filter(({ pointing }) => pointing.kind === 'right');
  const others = servers.filter(({ pointing }) => isOther(pointing));
  return {
    code: 'name_servers_disagree',
    ...look.wanted,
    right: unique(right.map(({ view }) => view.server)),
    others: others
      .map(({ view }) => ({ server: view.server, shows: showing(view) }))
      .sort(byText(({ server, shows }) => `${server} ${shows}`)),
  };
}

/** What a server or resolver shows, in a few words: `A 192.0.2.1`, `CNAME other.net`, `no such name`, `no record`. */
export function showing({ cname, a, aaaa }: Pick<ServerView, 'cname' | 'a' | 'aaaa'>): string {
  const parts = [
    ...unique(recordsOf(cname)).map((alias) => `CNAME ${alias}`),
    ...unique(recordsOf(a)).map((address) => `A ${address}`),
    ...unique(recordsOf(aaaa)).map((address) => `AAAA ${address}`),
  ];
  if (parts.length > 0) return shortList(parts, SHOWN_MAX);
  return [cname, a, aaaa].some(({ kind }) => kind === 'nxdomain') ? 'no such name' : 'no record';
}

/** The addresses of a proxy in place of the record, at a subdomain or an apex. */
export function proxied(look: Look): Finding | undefined {
  const addresses = unique([...addressesInTheWay(look, 'a'), ...addressesInTheWay(look, 'aaaa')]);
  const by = proxyOf(addresses);
  // A platform may stand behind the same proxy: then these are just its addresses.
  if (by === null || addresses.some(look.isOwn)) return undefined;
  return { code: 'proxied', ...look.wanted, by, addresses };
}

/** Whether the proxy is all that is wrong with the addresses: the zone is served by who runs it. */
export function isProxiedHere(look: Look): boolean {
  const { delegation } = look.observation;
  const lists =
    delegation?.kind === 'delegated'
      ? [delegation.atParent, delegation.atZone ?? []]
      : [zoneServers(look.observation)];
  return lists.some(areCloudflareServers) && proxied(look) !== undefined;
}

/** At a subdomain any address is in the way: a CNAME owns its name alone (RFC 1034, 3.6.2). */
export function conflicting(
  code: 'conflicting_a' | 'conflicting_aaaa',
  look: Look,
): Finding | undefined {
  if (look.apex) return undefined;
  const addresses = addressesInTheWay(look, code === 'conflicting_a' ? 'a' : 'aaaa');
  if (addresses.length === 0 || isProxiedHere(look)) return undefined;
  const ours = addresses.filter(look.isOwn);
  const hints = hinted(hintsForAddresses(look, addresses));
  return { code, ...look.wanted, addresses, ours, ...mailIn(look), ...hints };
}

/** Aliases in a circle lead nowhere. */
export function cnameLoop(look: Look): Finding | undefined {
  const { chain } = look.observation.nearby;
  if (chain?.end !== 'loop') return undefined;
  // The chain is that of one alias; it says nothing where no server showed one.
  if (!wrongAliases(look).some((alias) => isChainOf(alias, chain.names))) return undefined;
  const names = circleIn([look.wanted.hostname, ...chain.names]);
  return { code: 'cname_loop', ...look.wanted, names };
}

/** A CNAME to somewhere else, at a subdomain. */
export function cnameMismatch(look: Look): Finding | undefined {
  const [found] = wrongAliases(look);
  if (found === undefined || look.apex) return undefined;
  return { code: 'cname_mismatch', ...look.wanted, found, ...hinted(hintsForAlias(look, found)) };
}

/** No record, at a server at least. */
export function recordMissing(look: Look): Finding | undefined {
  const kinds = new Set(
    look.wrong.flatMap(({ pointing }) => (pointing.kind === 'missing' ? pointing.seen : [])),
  );
  if (kinds.size === 0) return undefined;
  // One server that knows the name is enough for it to exist.
  const seen = kinds.has('nodata') ? 'nodata' : 'nxdomain';
  return {
    code: 'record_missing',
    ...look.wanted,
    seen,
    ...choicesIn(look),
    ...mailIn(look),
    ...hinted(hintsForMissing(look, seen)),
  };
}

/** Mail is delivered to this name, and the CNAME that is to be created would end that. */
export function mailAtName(look: Look): Finding | undefined {
  if (look.pointing === 'right' || look.unregistered) return undefined;
  const { exchanges } = mailIn(look);
  return exchanges === undefined ? undefined : { code: 'mail_at_name', ...look.wanted, exchanges };
}

/** The MX records that a CNAME would end; beside an ALIAS they may stay. */
function mailIn(look: Look): { readonly exchanges?: readonly string[] } {
  const exchanges = unique(
    look.servers
      .filter(({ view }) => view.state === 'answers')
      .flatMap(({ view }) => recordsOf(view.mx))
      // RFC 7505: a "null MX" says that no mail is wanted.
      .filter((exchange) => !/^\d+ \.?$/.test(exchange)),
  );
  return look.apex || exchanges.length === 0 ? {} : { exchanges };
}

/** It points here, and so does every name beside it. */
export function wildcardAnswers(look: Look): Finding | undefined {
  const { sibling } = look.observation.nearby;
  if (sibling === null || look.apex || look.pointing !== 'right') return undefined;
  const { hostname, target } = look.wanted;
  const isOwn = ownAddresses(look.observation.targetAddresses);
  const addresses = recordsOf(sibling.a);
  const same =
    recordsOf(sibling.cname).some((alias) => isSameName(alias, target)) ||
    (addresses.length > 0 && addresses.every(isOwn));
  return same
    ? { code: 'wildcard_answers', ...look.wanted, wildcard: wildcardFor(hostname) }
    : undefined;
}

/** From the first name that comes twice to where it comes again; a chain that was cut short ends where it began. */
function circleIn(names: readonly string[]): readonly string[] {
  const end = names.findIndex((name, index) => names.indexOf(name) < index);
  const [, first, ...rest] = names;
  if (end < 0) return first === undefined ? names : [first, ...rest, first];
  return names.slice(names.indexOf(names[end] ?? ''), end + 1);
}
