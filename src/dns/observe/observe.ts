/** One check of a host name: what its servers show, what stands around it, and which CAA records would apply. */
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/config.ts';
import type { Answer, CaaLevel, Observation } from '../../core/diagnosis/observation.ts';
import { createAuthoritative } from '../servers/authoritative.ts';
import { createAuthorities } from '../servers/authorities.ts';
import { createAuthorityAsker } from '../servers/authority.ts';
import { createHosts } from '../servers/hosts.ts';
import type { CountQuestion } from '../servers/question-outcome.ts';
import { createReachability, type Reachability } from '../servers/reachability.ts';
import { createRecursive } from '../servers/recursive.ts';
import { createThrottle, type Throttle } from '../servers/throttle.ts';
import { CACHE_MAX } from '../servers/zone.ts';
import {
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
import { lookupTexts } from './proof.ts';
import { observeRecursively } from './recursive-observation.ts';
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
