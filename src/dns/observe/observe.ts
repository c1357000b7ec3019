/** One check of a host name: what its servers show, what stands around it, and which CAA records would apply. */
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/config.ts';
import type {
  Answer,
  CaaLevel,
  Delegation,
  Observation,
} from '../../core/diagnosis/observation.ts';
import { createAuthoritative } from '../servers/authoritative.ts';
import { createAuthorities } from '../servers/authorities.ts';
import { createAuthorityAsker } from '../servers/authority.ts';
import { REFERRALS_MAX } from '../servers/delegation.ts';
import { createHosts } from '../servers/hosts.ts';
import { createReachability, type Reachability } from '../servers/reachability.ts';
import { createRecursive } from '../servers/recursive.ts';
import { failureOf } from '../servers/reply.ts';
import type { CountQuestion } from '../servers/throttle.ts';
import { createThrottle, type Throttle } from '../servers/throttle.ts';
import { inTurns } from '../servers/turns.ts';
import { CACHE_MAX, delegationOf, registrableDomain, type Zone } from '../servers/zone.ts';
import {
  type Budget,
  defaultLimits,
  isSpent,
  type Limits,
  leftOf,
  type Spent,
  startBudget,
} from '../wire/budget.ts';
import { createShared } from '../wire/shared.ts';
import type { Wire } from '../wire/wire.ts';
import { climbForCaa } from './caa.ts';
import {
  type CheckTarget,
  type ObservationContext,
  type Parts,
  startObservation,
} from './context.ts';
import { observeInFull } from './full-observation.ts';
import { type LightDepth, stillHolds } from './light-observation.ts';
import { observeRecursively } from './recursive-observation.ts';
import { answerOf } from './server-view.ts';
import { lookupAddresses } from './target.ts';

/** An earlier observation of the same name, and how closely to check whether it still holds. */
export type Earlier = { readonly observation: Observation; readonly depth: LightDepth };

/**
 * Makes observations. Every call has a budget of its own, starts it at once, and never rejects for what the network
 * does.
 */
export type Observer = {
  /**
   * Makes one check. It costs at most the limits; a question that they cut off is a timeout or not asked. Where
   * `earlier`, a check that was not right, is found unchanged by a few questions, that very object is the result, so
   * callers may compare by identity.
   */
  readonly observe: (check: CheckTarget, earlier?: Earlier) => Promise<Observation>;
  /**
   * Resolves with the IPv4 and IPv6 addresses that a name leads to, aliases followed, as a recursive server answers;
   * empty where there are none or nobody could tell.
   */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
  /**
   * Resolves with whom the registry delegates a name's registrable domain to, which is remembered for ten minutes at most; null
   * where no server of the registry could tell.
   */
  readonly lookupDelegation: (hostname: string) => Promise<Delegation | null>;
  /**
   * Makes the CAA climb alone, asking every level again (RFC 8659, 3). Nearest level first, up to the first that has a
   * set or gives no answer.
   */
  readonly lookupCaa: (hostname: string) => Promise<readonly CaaLevel[]>;
  /**
   * Resolves with the TXT records at a name, one answer for each server of its zone, paid from what a check has left of
   * the limits. Empty for a name that is too long to ask.
   */
  readonly lookupTexts: (name: string, spentAlready: Spent) => Promise<readonly Answer<string>[]>;
};

/** What an observer is made of. Only `wire`, `config` and `platformAddresses` have no default. */
export type ObserverOptions = {
  readonly wire: Wire;
  /** Made from the wire where it is missing; a given one has to report to `reachability` and `count` itself. */
  readonly throttle?: Throttle;
  /** Whether authorities can be reached from here; one of its own where it is missing. */
  readonly reachability?: Reachability;
  readonly config: Config['dns'];
  /** What an apex must show; empty: whatever the target resolves to. */
  readonly platformAddresses: readonly string[];
  /** What one check may spend; `defaultLimits` unless given. */
  readonly limits?: Limits;
  /** Called for every question that was sent, and for those that this machine could not send. */
  readonly count?: CountQuestion;
  readonly now?: () => Date;
};

/**
 * Builds what every check shares: the resolvers, the remembered zones and the platform's addresses. Sends nothing.
 * Throws for a platform address that cannot be parsed. One observer is enough for a process.
 */
export function createObserver(options: ObserverOptions): Observer {
  const parts = createParts(options);
  return {
    observe: (check, earlier) => observe(startObservation(parts, check), earlier),
    lookupAddresses: (hostname) => lookupAddresses(parts, hostname, startBudget(parts.limits)),
    lookupDelegation: (hostname) => lookupDelegation(parts, hostname),
    lookupCaa: (hostname) => lookupCaa(parts, hostname),
    lookupTexts: (name, spentAlready) =>
      lookupTexts(parts, name, startBudget(leftOf(parts.limits, spentAlready))),
  };
}

function createParts(options: ObserverOptions): Parts {
  const { wire, config, platformAddresses } = options;
  const reachability = options.reachability ?? createReachability();
  const count = options.count ?? (() => {});
  const throttle = options.throttle ?? createThrottle(wire, { reachability, count });
  const recursive = createRecursive(wire, config.servers, count);
  const hosts = createHosts({ recursive, allowPrivate: config.allowPrivate });
  const asker = createAuthorityAsker({ throttle, hosts, authorityPort: config.authorityPort });
  const authorities = createAuthorities({ recursive, asker });
  const now = options.now ?? (() => new Date());
  return {
    config,
    recursive,
    asker,
    authorities,
    authoritative: createAuthoritative(asker, authorities, () => now().getTime()),
    reachability,
    registryCaa: createShared({ max: CACHE_MAX }),
    zonesBySoa: createShared({ max: CACHE_MAX }),
    platform: platformAddresses.map((address) => ipaddr.parse(address).toString()),
    limits: options.limits ?? defaultLimits,
    now,
  };
}

async function observe(
  context: ObservationContext,
  earlier: Earlier | undefined,
): Promise<Observation> {
  const { parts, check, budget } = context;
  if (!parts.config.authoritative) return observeRecursively(inWholeTime(context), 'configured');
  // While port 53 is blocked one check a minute still asks authorities, so that the end of the block is seen.
  if (!parts.reachability.mayProbe())
    return observeRecursively(inWholeTime(context), 'port_53_blocked');
  const start = await parts.authorities.zoneFor(check.hostname, budget);
  if (start.kind === 'unreached')
    return observeRecursively(inWholeTime(context), 'port_53_blocked');
  if (earlier !== undefined) {
    const { observation, depth } = earlier;
    if (await stillHolds(context, start, observation, depth)) return observation;
  }
  const seen = await observeInFull(context, start);
  const answered = seen.servers.some(({ state }) => state === 'answers');
  // The block may have been found out by this very check: its customer gets the resolvers' reply now, not at the next one.
  return !answered && parts.reachability.isBlocked() && !isSpent(context.whole)
    ? observeRecursively(inWholeTime(context), 'port_53_blocked')
    : seen;
}

function inWholeTime(context: ObservationContext): ObservationContext {
  return { ...context, budget: context.whole };
}

async function lookupDelegation(parts: Parts, hostname: string): Promise<Delegation | null> {
  const { authorities, limits, reachability } = parts;
  if (reachability.isBlocked()) return null;
  const cut = await authorities.zoneFor(registrableDomain(hostname), startBudget(limits));
  if (cut.kind === 'zone') return delegationOf(cut, null);
  if (cut.kind !== 'unregistered') return null;
  const { kind, zone, parent } = cut;
  return { kind, zone, parent };
}
async function lookupCaa(parts: Parts, hostname: string): Promise<readonly CaaLevel[]> {
  const budget = startBudget(parts.limits);
  const asking = { parts, budget };
  const { config, reachability, authorities } = parts;
  if (!config.authoritative || reachability.isBlocked()) {
    return climbForCaa(asking, hostname, true);
  }
  const start = await authorities.zoneFor(hostname, budget);
  return climbForCaa(asking, hostname, start.kind === 'unreached');
}

/** As long as a name can be, in characters: 255 octets on the wire. */
const NAME_MAX = 253;

/**
 * Resolves with one answer for each server of the zone; with a single one by the resolvers where the zone's own servers
 * are not to be asked or cannot be reached. An alias is not followed: it says that there is no TXT record at the name
 * itself. Empty for a name of more than 253 characters.
 */
export async function lookupTexts(
  parts: Parts,
  name: string,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  if (name.length > NAME_MAX) return [];
  const { config, reachability, authorities } = parts;
  if (!config.authoritative || reachability.isBlocked()) return askResolver(parts, name, budget);
  const start = await authorities.zoneFor(name, budget);
  switch (start.kind) {
    case 'unreached':
      return askResolver(parts, name, budget);
    case 'unregistered':
      return [answerOf(start.reply, name, 'TXT')];
    case 'zone':
      return askServers(parts, name, start, budget);
    default:
      return [failureOf(start)];
  }
}

/** All at once, and again those of the zone below where one of them refers to it. */
async function askServers(
  { asker, authorities, now }: Parts,
  name: string,
  start: Zone,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const [turn = []] = inTurns(zone.servers, now().getTime());
    const asked = turn.map((server) => asker.ask(zone.name, server, { name, type: 'TXT' }, budget));
    const replies = (await Promise.all(asked)).map(({ reply }) => reply);
    const referral = replies.find((reply) => reply.kind === 'referral');
    if (referral === undefined) return replies.map((reply) => answerOf(reply, name, 'TXT'));
    zone = authorities.delegated(referral, zone);
  }
  return [];
}

async function askResolver(
  { recursive }: Parts,
  name: string,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  const { reply } = await recursive.ask(name, 'TXT', budget);
  return [answerOf(reply, name, 'TXT')];
}
