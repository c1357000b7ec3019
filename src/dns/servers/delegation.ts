/**
 * Who is responsible for a registrable domain, asked of the zone above it: a resolver says where that zone's servers
 * are, and one of those says whom it delegates to, or that nobody has registered the name. A resolver alone never
 * denies anything: one that filters or is broken denies names that exist.
 */

import { type Budget, boundedBudget } from '../wire/budget.ts';
import { rcodes } from '../wire/message.ts';
import { parentOf } from '../wire/name.ts';
import type { Loaded } from '../wire/shared.ts';
import type { AuthorityAsker } from './authority.ts';
import type { Recursive } from './recursive.ts';
import { type Failure, type Referral, type ReplyMessage, referralTo } from './reply.ts';
import { recordsAt, shortestTtl } from './select.ts';
import {
  FAILURE_TTL_MS,
  failed,
  rememberMs,
  sortedNames,
  sortedServers,
  type Zone,
} from './zone.ts';

/** The registry's own server denies that there is a domain `zone`; `reply` is its NXDOMAIN. */
export type Unregistered = {
  readonly kind: 'unregistered';
  readonly zone: string;
  readonly parent: string;
  readonly server: string;
  readonly address: string | null;
  readonly reply: ReplyMessage;
};

/** A recursive server, `server`, could not tell. */
export type NoZone = { readonly kind: Failure['kind']; readonly server: string };

/** The servers of the zone above were silent, and no authority has ever answered: perhaps none can be reached from here. */
export type Unreached = { readonly kind: 'unreached'; readonly server: string };

/** What is known of the zone cut at a name. `none`: a recursive server says that no zone begins there. */
export type Cut =
  | Zone
  | Unregistered
  | NoZone
  | Unreached
  | { readonly kind: 'none'; readonly server: string };

/** Who is asked: resolvers for where a zone's servers are, and those servers themselves. */
export type DelegationParts = { readonly recursive: Recursive; readonly asker: AuthorityAsker };

/** Resolves with the zone at a suffix, as resolvers know it; remembered, because the same suffixes are asked for often. */
export type AboveAt = (suffix: string) => Promise<Cut>;

/** Two of them are enough: they are a registry's. */
const PARENT_SERVERS = 2;
/** For each of them, in ms: a silent registry must leave time for another way. Our choice. */
const PARENT_MS = 1_800;
/** What only a resolver says of a delegation is asked for again soon. Our choice. */
const FALLBACK_TTL_MS = 60_000;
/** How many referrals are followed downwards, as many as BIND does. */
export const REFERRALS_MAX = 7;

/**
 * Finds the delegation of one registrable domain. Where the zone above cannot tell, a resolver's NS set stands in for
 * it, for a minute at most. Never rejects for what the network does.
 */
export async function lookupDelegation(
  parts: DelegationParts,
  name: string,
  aboveAt: AboveAt,
  budget: Budget,
): Promise<Loaded<Cut>> {
  const above = await zoneAbove(name, aboveAt);
  const reply = above?.kind === 'zone' ? await askAbove(parts, above, name, budget) : undefined;
  if (reply !== undefined) return reply;
  const fallback = await lookupServers(parts.recursive, name, budget);
  if (fallback.value.kind === 'zone') {
    return { ...fallback, ttlMs: Math.min(fallback.ttlMs, FALLBACK_TTL_MS) };
  }
  return above === undefined || above.kind === 'zone' || above.kind === 'none'
    ? fallback
    : failed(above);
}

/**
 * Asks a recursive server for the NS set of one name. Addresses that it adds are not believed but asked for (RFC 2181,
 * 5.4.1), so `glue` is empty and `delegation` null.
 */
export async function lookupServers(
  recursive: Recursive,
  name: string,
  budget: Budget,
): Promise<Loaded<Cut>> {
  const { server, reply } = await recursive.ask(name, 'NS', budget);
  if (reply.kind !== 'message') return failed({ kind: reply.kind, server });
  const records = recordsAt(reply.message.answers, name, 'NS');
  if (records.length === 0) return failed({ kind: 'none', server });
  const servers = sortedServers(records.map(({ target }) => ({ name: target, glue: [] })));
  return {
    value: { kind: 'zone', name, servers, delegation: null },
    ttlMs: rememberMs(shortestTtl(records)),
    failed: false,
  };
}

/** Returns the zone that a referral of a server of `parent` leads to. */
export function zoneOf({ zone, servers, ttlSeconds }: Referral, parent: string): Zone {
  const atParent = sortedNames(servers.map(({ name }) => name));
  return {
    kind: 'zone',
    name: zone,
    servers: sortedServers(servers),
    delegation: { parent, atParent, ttlSeconds },
  };
}

/** The nearest suffix above a name that a resolver knows servers of; undefined right below the root. */
async function zoneAbove(name: string, aboveAt: AboveAt): Promise<Cut | undefined> {
  let cut: Cut | undefined;
  for (let at = parentOf(name); at !== undefined && at !== '.'; at = parentOf(at)) {
    cut = await aboveAt(at);
    if (cut.kind !== 'none') return cut;
  }
  return cut;
}

/** What the servers of a zone above say, referrals in between followed; undefined where they could not tell. */
async function askAbove(
  { asker }: DelegationParts,
  above: Zone,
  name: string,
  budget: Budget,
): Promise<Loaded<Cut> | undefined> {
  let parent = above;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const word = await askServersAbove(asker, parent, name, budget);
    if (word === 'silence') {
      return asker.hasResponded() ? undefined : failed({ kind: 'unreached', server: parent.name });
    }
    if (word === undefined) return undefined;
    if (word.kind !== 'referral') return cutOf(parent, name, word);
    const zone = zoneOf(word, parent.name);
    if (zone.name === name) {
      return { value: zone, ttlMs: rememberMs(word.ttlSeconds), failed: false };
    }
    parent = zone;
  }
  return undefined;
}

type Word =
  | Referral
  | (ReplyMessage & { readonly server: string; readonly address: string | null });

/** `silence`: nothing came from any of those that were asked. */
async function askServersAbove(
  asker: AuthorityAsker,
  parent: Zone,
  name: string,
  budget: Budget,
): Promise<Word | 'silence' | undefined> {
  let silent = true;
  for (const server of parent.servers.slice(0, PARENT_SERVERS)) {
    const { address, reply } = await asker.ask(
      parent.name,
      server,
      { name, type: 'NS' },
      boundedBudget(budget, PARENT_MS),
    );
    if (reply.kind === 'referral') return reply;
    if (reply.kind === 'message') return { ...reply, server: server.name, address };
    // Neither does anything come where this host cannot even send.
    silent &&= reply.state === 'timeout' || (address !== null && reply.state === 'not_asked');
  }
  return silent ? 'silence' : undefined;
}

/** An authoritative answer: the server holds the domain itself, or knows that there is none. */
function cutOf(
  parent: Zone,
  name: string,
  { server, address, ...reply }: Exclude<Word, Referral>,
): Loaded<Cut> {
  const { message } = reply;
  if (message.rcode === rcodes.NXDOMAIN) {
    const value = { kind: 'unregistered', zone: name, parent: parent.name, server, address, reply };
    // Whoever has just bought it waits for us, so this is not kept for as long as the registry allows.
    return { value: { ...value, kind: 'unregistered' }, ttlMs: FAILURE_TTL_MS, failed: false };
  }
  const own = referralTo(name, message.answers, message, parent.name);
  // No zone begins there: the name is in the zone above.
  const value = own.servers.length > 0 ? zoneOf(own, parent.name) : parent;
  return { value, ttlMs: rememberMs(own.ttlSeconds), failed: false };
}
