/** A full check by the replies of the zone's own servers, each asked by itself, and of the resolvers where those have it right. */
import type {
  CaaLevel,
  Delegation,
  Nearby,
  Observation,
  ServerView,
} from '../../core/diagnosis/observation.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import type { OwnServers } from '../servers/authorities.ts';
import { type NoZone, REFERRALS_MAX, type Unregistered } from '../servers/delegation.ts';
import { NOBODY } from '../servers/recursive.ts';
import { type NameServer, type Referral, untold } from '../servers/reply.ts';
import { recordsAt, shortestTtl, soaIn } from '../servers/select.ts';
import {
  delegationOf,
  failed,
  registrableDomain,
  rememberMs,
  sortedNames,
  withOwnServers,
  type Zone,
} from '../servers/zone.ts';
import { isWithin } from '../wire/name.ts';
import { climbAsIfPointed } from './caa-of-check.ts';
import { inZone, type ObservationContext } from './context.ts';
import {
  askBeside,
  askHttps,
  askMistakes,
  askSiblings,
  chainOf,
  dnameOf,
  nothingNearby,
  type Siblings,
  siblingOf,
} from './nearby.ts';
import { resolversWork } from './own-resolvers.ts';
import { zoneAtSameServers } from './same-servers.ts';
import { allOf, answering, type Seen, silent, untoldView } from './server-view.ts';
import { observeSignatures } from './signatures.ts';
import { ownAddresses, pointingOfViews, targetAddressesOf } from './target.ts';
import { thoseThatAnswer, viewInTurns, viewServers } from './view-servers.ts';
import { observeWorld } from './world.ts';

type ZoneObservation = Pick<
  Observation,
  'servers' | 'world' | 'signatures' | 'nearby' | 'caa' | 'targetAddresses' | 'resolversWork'
> & {
  readonly delegation: Delegation | null;
};

/** Makes a whole check that starts at what is known of the zone. Never rejects for what the network does. */
export async function observeInFull(
  context: ObservationContext,
  start: Zone | Unregistered | NoZone,
): Promise<Observation> {
  const found =
    start.kind === 'zone' ? await observeZone(context, start) : await withoutZone(context, start);
  return {
    hostname: context.check.hostname,
    at: context.at,
    view: 'authoritative',
    whyRecursive: null,
    ...found,
    cost: context.cost(),
  };
}

/** Without a zone there is nobody else to ask: the one view is the registry's denial, or the resolver's failure. */
async function withoutZone(
  context: ObservationContext,
  start: Unregistered | NoZone,
): Promise<ZoneObservation> {
  const nothing = { world: [], nearby: nothingNearby, caa: null, targetAddresses: [] };
  if (start.kind !== 'unregistered') {
    const address = start.server === NOBODY ? null : start.server;
    const view = untoldView(start.server, address, untold(start.kind));
    const works = start.kind === 'servfail' ? { resolversWork: await resolversWork(context) } : {};
    return { ...nothing, delegation: null, servers: [view], ...works };
  }
  const { zone, parent, server, address, reply } = start;
  const view: ServerView = {
    server,
    address,
    ...answering(reply),
    ...allOf({ kind: 'nxdomain' }),
    mx: null,
    txt: null,
    soa: soaIn(reply.message, zone),
  };
  return { ...nothing, delegation: { kind: 'unregistered', zone, parent }, servers: [view] };
}

async function observeZone(given: ObservationContext, start: Zone): Promise<ZoneObservation> {
  const { zone: above, seen, atZone } = await viewZone(given, start);
  const answered = thoseThatAnswer(seen);
  if (answered.length === 0) return withoutAnswer(given, above, seen);
  const zone = await zoneAtSameServers(given, above, answered);
  const delegation =
    undelegatedIn(given, zone) ?? delegationOf(zone, zone === above ? atZone : null);
  const context = inZone(given, delegation);
  const { check } = context;
  const views = seen.map(({ view }) => view);
  const targetAddresses = await targetAddressesOf(context, views, false);
  const pointing = pointingOfViews(check, views, targetAddresses);
  const servers = new Set(answered.map(({ server }) => server.name));
  const climbing = climbAsIfPointed(context, { zone, servers });
  // Resolvers are asked only once the record is right: an earlier question would make them remember "there is none"
  // (RFC 2308, 5).
  const asking = pointing === 'right' ? observeWorld(context) : Promise.resolve([]);
  const known = { zone, pointing, views, world: asking, caa: climbing };
  const [around, caa, world, signatures] = await Promise.all([
    observeAround(context, zone, seen, pointing, climbing),
    climbing,
    asking,
    delegation?.kind === 'undelegated' ? [] : observeSignatures(context, known),
  ]);
  const { nearby } = around;
  const beside = nearby.wrongHosts.some(({ a }) => a?.kind === 'records');
  return {
    delegation,
    servers: around.servers,
    nearby,
    caa,
    world: world.map(({ view }) => view),
    ...(signatures.length > 0 && { signatures }),
    targetAddresses:
      beside && targetAddresses.length === 0 ? await ownAddresses(context) : targetAddresses,
  };
}

/** Where the zone above answers for the domain itself: it has no name servers of its own. */
function undelegatedIn({ check: { hostname } }: ObservationContext, zone: Zone): Delegation | null {
  const domain = registrableDomain(hostname);
  if (!domain.endsWith(`.${zone.name}`)) return null;
  return { kind: 'undelegated', zone: domain, parent: zone.name };
}

/**
 * Nothing is known of the name, so nothing else is asked of the zone. It is forgotten: the next check finds out who is
 * responsible. A server without an address may be the fault of our resolvers.
 */
async function withoutAnswer(
  context: ObservationContext,
  zone: Zone,
  [first, ...rest]: readonly [Seen, ...Seen[]],
): Promise<ZoneObservation> {
  context.parts.authorities.forget(zone, context.check.hostname);
  const lost = [first, ...rest].some(({ view }) => view.state === 'no_address');
  return {
    delegation: delegationOf(zone, null),
    servers: [first.view, ...rest.map(({ view }) => view)],
    world: [],
    nearby: nothingNearby,
    caa: null,
    targetAddresses: [],
    ...(lost ? { resolversWork: await resolversWork(context) } : {}),
  };
}

/** Asks for what explains a name that is wrong; for one that is right, whether a wildcard answers, and each server's SOA. */
async function observeAround(
  context: ObservationContext,
  zone: Zone,
  seen: readonly [Seen, ...Seen[]],
  pointing: Verdict,
  climbing: Promise<readonly CaaLevel[]>,
): Promise<{ readonly servers: Observation['servers']; readonly nearby: Nearby }> {
  const answered = thoseThatAnswer(seen);
  const [one] = answered;
  const wrong = pointing === 'wrong' && one !== undefined;
  const names = new Set(answered.map(({ server }) => server.name));
  const { apex } = context.check;
  const [siblings, mistakes, beside, chain, https] = await Promise.all([
    askSiblings(context, zone, answered.slice(0, 1)),
    wrong ? askMistakes(context, zone, one) : { doubled: null, wrongHosts: [] },
    wrong && !apex ? askBeside(context, zone, answered) : null,
    wrong ? chainOf(context, answered, names) : null,
    apex && one !== undefined ? askHttps(context, zone, one) : null,
  ]);
  const caa = await climbing;
  const views = await withSoa(context, zone, seen, { siblings, caa, pointing });
  const [first, ...rest] = views.map((view) =>
    view.server === beside?.server ? { ...view, mx: beside.mx, txt: beside.txt } : view,
  );
  return {
    servers: [first ?? seen[0].view, ...rest],
    nearby: {
      ...mistakes,
      sibling: siblingOf(siblings),
      chain,
      ...(wrong ? dnameOf(answered, context.check.hostname) : {}),
      ...(https === null ? {} : { https }),
    },
  };
}

/** What the servers of a zone show: one view for each server, never empty. */
export type ZoneViews = {
  /** The zone that the host name is in after all, referrals followed. */
  readonly zone: Zone;
  readonly seen: readonly [Seen, ...Seen[]];
  /** The zone's own NS set, sorted; null where none of its servers answered. */
  readonly atZone: OwnServers;
};

/**
 * Asks all servers of a zone at once, and those of the zone below where one refers to it, at most REFERRALS_MAX times.
 * Where the referrals do not end, the result is one view that failed.
 */
export async function viewZone(context: ObservationContext, start: Zone): Promise<ZoneViews> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const views = await viewAll(context, zone);
    if (!('kind' in views)) return views;
    zone = context.parts.authorities.delegated(views, zone);
  }
  return { zone, seen: atLeastOne(zone, []), atZone: null };
}

/** Asks the servers of the delegation, and where one of them answers, those that only the zone itself names. */
async function viewAll(context: ObservationContext, zone: Zone): Promise<ZoneViews | Referral> {
  const seen = await viewInTurns(context, zone);
  if ('kind' in seen) return seen;
  const atZone = await ownServers(context, zone, thoseThatAnswer(seen));
  const whole = withOwnServers(zone, atZone);
  const others = await viewServers(context, whole, whole.servers.slice(zone.servers.length));
  if ('kind' in others) return others;
  return { zone: whole, seen: atLeastOne(zone, [...seen, ...others]), atZone };
}

/** The zone's own NS set, by the first server that answers; not asked where there is nothing to compare it with. */
async function ownServers(
  context: ObservationContext,
  zone: Zone,
  [one]: readonly Seen[],
): Promise<OwnServers> {
  if (one === undefined || zone.delegation === null) return null;
  return context.parts.authorities.ownServers(zone, context.budget, async () => {
    const question = { name: zone.name, type: 'NS' } as const;
    const { reply } = await context.askServer(zone, one.server, question);
    const records =
      reply.kind === 'message' ? recordsAt(reply.message.answers, zone.name, 'NS') : [];
    if (records.length === 0) return failed(null);
    const value = sortedNames(records.map(({ target }) => target));
    return { value, ttlMs: rememberMs(shortestTtl(records)), failed: false };
  });
}

/** Where SOA records may have come along, and whether the record is right. */
type SoaSources = {
  readonly siblings: Siblings | null;
  readonly caa: readonly CaaLevel[];
  readonly pointing: Verdict;
};

/**
 * Resolves with the views, each with the SOA record of its server: from a reply that came already, also one about CAA,
 * else asked for. Null where the server does not answer or shows none; and where it has a CAA set in place of a denial
 * while the first server's is known, as that is worth no question. The order is kept.
 */
export function withSoa(
  context: ObservationContext,
  zone: Zone,
  seen: readonly Seen[],
  { siblings, caa, pointing }: SoaSources,
): Promise<readonly ServerView[]> {
  const { hostname, apex } = context.check;
  // Asked of every server already: a reply comes at once.
  const level = caa.find(({ name }) => (apex || name !== hostname) && isWithin(name, zone.name));
  const isEnough = pointing === 'right' && siblings !== null && level !== undefined;
  const soaFrom = async (server: NameServer, name: string, type: 'CAA' | 'SOA') => {
    const { reply } = await context.askServer(zone, server, { name, type });
    return reply.kind === 'message' ? soaIn(reply.message, zone.name) : null;
  };
  return Promise.all(
    seen.map(async ({ view, server }) => {
      if (view.state !== 'answers' || view.soa !== null) return view;
      const beside = siblings?.replies.get(server.name);
      const known = beside?.kind === 'message' ? soaIn(beside.message, siblings?.name ?? '') : null;
      const soa = known ?? (level ? await soaFrom(server, level.name, 'CAA') : null);
      if (soa !== null || isEnough) return { ...view, soa };
      return { ...view, soa: await soaFrom(server, zone.name, 'SOA') };
    }),
  );
}

/** A delegation without a usable name server, or one that leads ever further down, leaves nobody to ask. */
function atLeastOne(zone: Zone, seen: readonly Seen[]): readonly [Seen, ...Seen[]] {
  const [first, ...rest] = seen;
  if (first !== undefined) return [first, ...rest];
  return [silent({ name: zone.name, glue: [] }, null, untold('servfail'))];
}
