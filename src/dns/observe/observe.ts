import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/config.ts';
import type {
  DnsAnswer,
  Nearby,
  Observation,
  Observed,
  ServerView,
} from '../../core/diagnosis/observation.ts';
import { NAME_OCTETS_MAX } from '../../core/names/hostname.ts';
import { createAuthoritative } from '../servers/authoritative.ts';
import { createAuthorities } from '../servers/authorities.ts';
import { createAuthorityAsker } from '../servers/authority.ts';
import { REFERRALS_MAX } from '../servers/delegation.ts';
import { createHosts } from '../servers/hosts.ts';
import type { CountQuestion } from '../servers/question-outcome.ts';
import { createReachability, type Reachability } from '../servers/reachability.ts';
import { createRecursive, NO_RESOLVER } from '../servers/recursive.ts';
import { classifyRecursive, failureOf, noReply } from '../servers/reply.ts';
import { textsAt } from '../servers/select.ts';
import { createThrottle, type Throttle } from '../servers/throttle.ts';
import { CACHE_MAX, type Zone } from '../servers/zone.ts';
import {
  defaultLimits,
  isSpent,
  type Limits,
  leftOf,
  type QueryBudget,
  type Spent,
  startBudget,
} from '../wire/budget.ts';
import { createShared } from '../wire/shared.ts';
import type { Wire } from '../wire/wire.ts';
import { climbAsIfPointed } from './caa-of-check.ts';
import {
  type CheckTarget,
  type ObservationContext,
  type ObserverParts,
  resolversWork,
  startObservation,
} from './context.ts';
import { observeInFull } from './full-observation.ts';
import { type LightDepth, stillHolds } from './light-observation.ts';
import { aliasIn, followChain, nothingNearby } from './nearby.ts';
import { allOf, answering, answerOf, noReplyView, nothingMore } from './server-view.ts';
import { observeFailedLevels } from './signatures.ts';
import { lookupAddresses, targetAddressesOf } from './target.ts';
import { askResolver, type ResolverSeen, viewOfResolver } from './world.ts';

export type Earlier = { readonly observation: Observation; readonly depth: LightDepth };

/** Every call has its own budget and starts at once. Network failures do not reject it. */
export type Observer = {
  /** Queries cut off by the limits are timeouts or not queried. */
  readonly observe: (check: CheckTarget) => Promise<Observation>;
  /** A full check unless `earlier` was wrong and a few queries find it unchanged. */
  readonly observeAgain: (check: CheckTarget, earlier: Earlier) => Promise<Observed>;
  /** As a resolver returns them, after following aliases. Empty if no resolver answers. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
  /** One answer per server of the zone. Empty for a name that is too long. */
  readonly lookupTexts: (
    name: string,
    spentAlready: Spent,
  ) => Promise<readonly DnsAnswer<string>[]>;
};

export type ObserverOptions = {
  readonly wire: Wire;
  /** Default: created from the wire. A custom one must report to `reachability` and `count`. */
  readonly throttle?: Throttle;
  readonly reachability?: Reachability;
  readonly config: Config['dns'];
  /** The expected addresses of an apex; empty: use the target's addresses. */
  readonly platformAddresses: readonly string[];
  readonly limits?: Limits;
  /** Also called for queries that this machine failed to send. */
  readonly count?: CountQuestion;
  readonly now?: () => Date;
};

/** Sends nothing. Throws for an invalid platform address. One per process: caches are shared. */
export function createObserver(options: ObserverOptions): Observer {
  const parts = createParts(options);
  return {
    observe: async (check) => (await observe(startObservation(parts, check))).observation,
    observeAgain: (check, earlier) => observe(startObservation(parts, check), earlier),
    lookupAddresses: (hostname) => lookupAddresses(parts, hostname, startBudget(parts.limits)),
    lookupTexts: (name, spentAlready) =>
      lookupTexts(parts, name, startBudget(leftOf(parts.limits, spentAlready))),
  };
}

function createParts(options: ObserverOptions): ObserverParts {
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
    zonesBySoa: createShared({ max: CACHE_MAX }),
    besideTurns: createShared({ max: CACHE_MAX }),
    platform: platformAddresses.map((address) => ipaddr.parse(address).toString()),
    limits: options.limits ?? defaultLimits,
    now: options.now ?? (() => new Date()),
  };
}

async function observe(context: ObservationContext, earlier?: Earlier): Promise<Observed> {
  const { parts, check, budget } = context;
  if (!parts.config.authoritative) return throughResolvers(context, 'configured');
  // While port 53 is blocked, one check per minute still queries authoritative servers to detect
  // the end of the block.
  if (!parts.reachability.mayProbe()) return throughResolvers(context, 'port_53_blocked');
  const start = await parts.authorities.zoneFor(check.hostname, budget);
  if (start.kind === 'unreached') return throughResolvers(context, 'port_53_blocked');
  if (earlier !== undefined) {
    const { observation, depth } = earlier;
    if (await stillHolds(context, start, observation, depth)) {
      return { kind: 'unchanged', observation };
    }
  }
  const observation = await observeInFull(context, start);
  const answered = observation.servers.some(({ state }) => state === 'answers');
  // If this check detected the block, it uses the resolvers at once.
  return !answered && parts.reachability.isBlocked() && !isSpent(context.whole)
    ? throughResolvers(context, 'port_53_blocked')
    : { kind: 'observed', observation };
}

async function throughResolvers(
  context: ObservationContext,
  why: 'configured' | 'port_53_blocked',
): Promise<Observed> {
  const observation = await observeRecursively({ ...context, budget: context.whole }, why);
  return { kind: 'observed', observation };
}

/**
 * If the zone's own servers are disabled or unreachable, a single answer through the resolvers. An
 * alias means no TXT record at this name, and is not followed.
 */
async function lookupTexts(
  parts: ObserverParts,
  name: string,
  budget: QueryBudget,
): Promise<readonly DnsAnswer<string>[]> {
  if (name.length > NAME_OCTETS_MAX) return [];
  const { config, reachability, authorities } = parts;
  if (!config.authoritative || reachability.isBlocked())
    return textsByResolver(parts, name, budget);
  const start = await authorities.zoneFor(name, budget);
  switch (start.kind) {
    case 'unreached':
      return textsByResolver(parts, name, budget);
    case 'unregistered':
      return [answerOf(start.reply, name, 'TXT')];
    case 'zone':
      return askServers(parts, name, start, budget);
    default:
      return [failureOf(start)];
  }
}

/** Concurrently, and the child zone's servers after a referral. */
async function askServers(
  { asker, authorities }: ObserverParts,
  name: string,
  start: Zone,
  budget: QueryBudget,
): Promise<readonly DnsAnswer<string>[]> {
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

async function textsByResolver(
  { recursive }: ObserverParts,
  name: string,
  budget: QueryBudget,
): Promise<readonly DnsAnswer<string>[]> {
  const { reply } = await recursive.ask(name, 'TXT', budget);
  return [answerOf(reply, name, 'TXT')];
}

// A check that only uses the configured resolvers, if the zone's own servers cannot be queried.

/**
 * In order until one answers. If all fail, the view is the first one's, which can still contain the
 * alias. Network failures do not reject it.
 */
async function observeRecursively(
  context: ObservationContext,
  why: NonNullable<Observation['whyRecursive']>,
): Promise<Observation> {
  const world: ResolverSeen[] = [];
  for (const resolver of context.parts.recursive.inTurn()) {
    const seen = await viewOfResolver(context, resolver);
    world.push(seen);
    if (seen.reply.kind === 'message') break;
  }
  const speaker = world.find(({ reply }) => reply.kind === 'message') ?? world[0];
  const view = speaker ? await serverView(context, speaker) : noResolver;
  const isKnown = view.cname.kind === 'records' || view.state === 'answers';
  // After the name itself: if that has no answer, the remaining budget does not matter.
  const targetAddresses = await targetAddressesOf(context, [view], true);
  const caa = isKnown ? await climbAsIfPointed(context, null) : null;
  const signatures = await observeFailedLevels(context, caa ?? []);
  const isFailure = !isKnown && view.cname.kind === 'servfail';
  return {
    hostname: context.check.hostname,
    at: context.at,
    view: 'recursive',
    whyRecursive: why,
    delegation: null,
    servers: [view],
    world: world.map((seen) => seen.view),
    nearby: { ...nothingNearby, chain: await chainIn(context, speaker) },
    caa,
    ...(signatures.length > 0 && { signatures }),
    targetAddresses,
    ...(isFailure && { resolversWork: await resolversWork(context) }),
    cost: context.cost(),
  };
}

async function serverView(
  context: ObservationContext,
  { resolver, reply, view }: ResolverSeen,
): Promise<ServerView> {
  const { address } = resolver;
  if (reply.kind === 'message') {
    const { cname, a, aaaa } = view;
    return { server: address, address, ...answering(reply), cname, a, aaaa, ...nothingMore };
  }
  const failure = noReplyView(address, address, reply);
  // A query fails if the alias target cannot be resolved, even if the alias is right.
  const again = classifyRecursive(await askResolver(context, resolver, 'CNAME', false));
  if (again.kind !== 'message') return failure;
  const cname = textsAt(again.message, context.check.hostname, 'CNAME');
  if (cname.kind === 'nxdomain') return { ...failure, ...allOf(cname) };
  const beside = cname.kind === 'records' ? ({ kind: 'nodata' } as const) : failure.a;
  return { ...failure, cname, a: beside, aaaa: beside };
}

/** Resolvers follow aliases to the end, so no query is needed. */
async function chainIn(
  context: ObservationContext,
  speaker: ResolverSeen | undefined,
): Promise<Nearby['chain']> {
  if (speaker?.reply.kind !== 'message') return null;
  const { message } = speaker.reply;
  const { cname } = speaker.view;
  const alias = aliasIn({ cname }, context.check.target);
  if (alias === undefined) return null;
  return followChain(context, alias, message, async () => ({
    kind: 'message',
    message,
    whole: true,
  }));
}

/** For a host without any resolver. */
const noResolver: ServerView = noReplyView(NO_RESOLVER, null, noReply('servfail'));
