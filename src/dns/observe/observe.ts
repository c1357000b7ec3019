/** One check of a host name: what its servers show, what stands around it, and which CAA records would apply. */
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/config.ts';
import type { Answer, CaaLevel, Observation } from '../../core/diagnosis/observation.ts';
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
import { CACHE_MAX, type Zone } from '../servers/zone.ts';
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

/** What a full check found, and how closely to see whether it still holds. */
export type Earlier = { readonly observation: Observation; readonly depth: LightDepth };

export type Observer = {
  /**
   * One check. Costs at most the limits; what they cut off is a timeout, or not asked. Where `earlier`, a check of the same
   * that was not right, is found unchanged by a few questions, its very observation is the result. Never rejects for
   * what the network does.
   */
  readonly observe: (check: CheckTarget, earlier?: Earlier) => Promise<Observation>;
  /** The addresses that a name leads to, as a recursive server tells everybody; with a budget of its own. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
  /** The CAA climb alone, with a budget of its own: asked once more before an order (RFC 8659, 3). */
  readonly lookupCaa: (hostname: string) => Promise<readonly CaaLevel[]>;
  /** The TXT records at a name as each of its zone's servers has them, with what a check has left of the limits. */
  readonly lookupTexts: (name: string, spentAlready: Spent) => Promise<readonly Answer<string>[]>;
};

export type ObserverOptions = {
  readonly wire: Wire;
  /** Made from the wire where it is missing; one that is given tells `reachability` itself. */
  readonly throttle?: Throttle;
  readonly reachability?: Reachability;
  readonly config: Config['dns'];
  /** What an apex must show; empty: whatever the target resolves to. */
  readonly platformAddresses: readonly string[];
  readonly limits?: Limits;
  /** Is told what became of every question. */
  readonly count?: CountQuestion;
  readonly now?: () => Date;
};

/** Builds what every check shares: the resolvers, the remembered zones and the platform's addresses. */
export function createObserver(options: ObserverOptions): Observer {
  const parts = createParts(options);
  return {
    observe: (check, earlier) => observe(startObservation(parts, check), earlier),
    lookupAddresses: (hostname) => lookupAddresses(parts, hostname, startBudget(parts.limits)),
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
  return {
    config,
    recursive,
    asker,
    authorities,
    authoritative: createAuthoritative(asker, authorities),
    reachability,
    registryCaa: createShared({ max: CACHE_MAX }),
    platform: platformAddresses.map((address) => ipaddr.parse(address).toString()),
    limits: options.limits ?? defaultLimits,
    now: options.now ?? (() => new Date()),
  };
}

async function observe(
  context: ObservationContext,
  earlier: Earlier | undefined,
): Promise<Observation> {
  const { parts, check, budget } = context;
  if (!parts.config.authoritative) return observeRecursively(inWholeTime(context), 'configured');
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
  // No check may wait for the next one to find out that nobody can be reached from here.
  return !answered && parts.reachability.isBlocked() && !isSpent(context.whole)
    ? observeRecursively(inWholeTime(context), 'port_53_blocked')
    : seen;
}

function inWholeTime(context: ObservationContext): ObservationContext {
  return { ...context, budget: context.whole };
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
 * One answer of each server; of the resolvers where the zone's own servers are not to be asked or out of reach. An alias
 * is not followed: it says that there is no TXT record at the name itself. Empty for a name that cannot be asked.
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
  { asker, authorities }: Parts,
  name: string,
  start: Zone,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const asked = zone.servers.map((server) =>
      asker.ask(zone.name, server, { name, type: 'TXT' }, budget),
    );
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
