/**
 * Finds the delegation of a registrable domain at the parent zone's servers. A denial by a resolver
 * alone does not count: filtering or broken resolvers deny existing names.
 */

import { MINUTE } from '../../core/time.ts';
import { boundedBudget, type QueryBudget } from '../wire/budget.ts';
import { rcodes } from '../wire/message.ts';
import { parentOf } from '../wire/name.ts';
import type { Loaded } from '../wire/shared.ts';
import type { AuthorityAsker } from './authority.ts';
import type { Recursive } from './recursive.ts';
import { type Failure, type Referral, type ReplyMessage, referralTo } from './reply.ts';
import { recordsAt, shortestTtl } from './select.ts';
import {
  FAILURE_TTL_MS,
  loadedFailure,
  rememberMs,
  sortedNames,
  sortedServers,
  type Zone,
} from './zone.ts';

/** The registry's own server says that `zone` does not exist; `reply` is its NXDOMAIN. */
export type Unregistered = {
  readonly kind: 'unregistered';
  readonly zone: string;
  readonly parent: string;
  readonly server: string;
  readonly address: string | null;
  readonly reply: ReplyMessage;
};

/** The resolver `server` gave no usable answer. */
export type NoZone = { readonly kind: Failure['kind']; readonly server: string };

/** No authoritative server has ever answered: port 53 is probably blocked. */
export type Unreached = { readonly kind: 'unreached'; readonly server: string };

/** `none`: according to a resolver, no zone starts there. */
export type Cut =
  | Zone
  | Unregistered
  | NoZone
  | Unreached
  | { readonly kind: 'none'; readonly server: string };

export type DelegationParts = { readonly recursive: Recursive; readonly asker: AuthorityAsker };

/** Cached, because suffixes repeat. */
export type AboveAt = (suffix: string) => Promise<Cut>;

/** Two suffice, because registries run them. */
const PARENT_SERVERS = 2;
/** A silent registry must leave time for a fallback. */
const PARENT_MS = 1_800;
/** Delegations known only from a resolver are looked up again soon. */
const FALLBACK_TTL_MS = MINUTE;
/** The same limit as BIND. */
export const REFERRALS_MAX = 7;

/** Falls back to a resolver's NS set, for a minute. Network failures do not reject it. */
export async function lookupDelegation(
  parts: DelegationParts,
  name: string,
  aboveAt: AboveAt,
  budget: QueryBudget,
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
    : loadedFailure(above);
}

/** From a resolver. Additional addresses are not trusted (RFC 2181, 5.4.1), so `glue` is empty. */
export async function lookupServers(
  recursive: Recursive,
  name: string,
  budget: QueryBudget,
): Promise<Loaded<Cut>> {
  const { server, reply } = await recursive.ask(name, 'NS', budget);
  if (reply.kind !== 'message') return loadedFailure({ kind: reply.kind, server });
  const records = recordsAt(reply.message.answers, name, 'NS');
  if (records.length === 0) return loadedFailure({ kind: 'none', server });
  const servers = sortedServers(records.map(({ target }) => ({ name: target, glue: [] })));
  return {
    value: { kind: 'zone', name, servers, delegation: null },
    ttlMs: rememberMs(shortestTtl(records)),
    failed: false,
  };
}

export function zoneOf({ zone, servers, ttlSeconds }: Referral, parent: string): Zone {
  const atParent = sortedNames(servers.map(({ name }) => name));
  return {
    kind: 'zone',
    name: zone,
    servers: sortedServers(servers),
    delegation: { parent, atParent, ttlSeconds },
  };
}

/** The closest one that a resolver knows servers of; undefined directly below the root. */
async function zoneAbove(name: string, aboveAt: AboveAt): Promise<Cut | undefined> {
  let cut: Cut | undefined;
  for (let at = parentOf(name); at !== undefined && at !== '.'; at = parentOf(at)) {
    cut = await aboveAt(at);
    if (cut.kind !== 'none') return cut;
  }
  return cut;
}

/** Follows referrals; undefined without a usable answer. */
async function askAbove(
  { asker }: DelegationParts,
  above: Zone,
  name: string,
  budget: QueryBudget,
): Promise<Loaded<Cut> | undefined> {
  let parent = above;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const word = await askServersAbove(asker, parent, name, budget);
    if (word === 'silence') {
      return asker.hasResponded()
        ? undefined
        : loadedFailure({ kind: 'unreached', server: parent.name });
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

/** `silence`: no queried server sent anything. */
async function askServersAbove(
  asker: AuthorityAsker,
  parent: Zone,
  name: string,
  budget: QueryBudget,
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
    // This also covers a host that cannot send at all.
    silent &&= reply.state === 'timeout' || (address !== null && reply.state === 'not_asked');
  }
  return silent ? 'silence' : undefined;
}

/** Authoritative: the server hosts the domain itself, or denies that it exists. */
function cutOf(
  parent: Zone,
  name: string,
  { server, address, ...reply }: Exclude<Word, Referral>,
): Loaded<Cut> {
  const { message } = reply;
  if (message.rcode === rcodes.NXDOMAIN) {
    const value = { kind: 'unregistered', zone: name, parent: parent.name, server, address, reply };
    // Cached briefly, so that a newly registered name is found soon.
    return { value: { ...value, kind: 'unregistered' }, ttlMs: FAILURE_TTL_MS, failed: false };
  }
  const own = referralTo(name, message.answers, message, parent.name);
  // No zone starts there: the name belongs to the parent zone.
  const value = own.servers.length > 0 ? zoneOf(own, parent.name) : parent;
  return { value, ttlMs: rememberMs(own.ttlSeconds), failed: false };
}
