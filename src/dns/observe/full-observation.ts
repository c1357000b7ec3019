/** A whole check by the replies of the zone's own servers, and of the resolvers where those servers have it right. */
import type {
  Delegation,
  Nearby,
  Observation,
  ServerView,
} from '../../core/diagnosis/observation.ts';
import type { NoZone, Unregistered } from '../servers/delegation.ts';
import { NOBODY } from '../servers/recursive.ts';
import { untold } from '../servers/reply.ts';
import { soaIn } from '../servers/select.ts';
import { delegationOf, type Zone } from '../servers/zone.ts';
import { climbAsIfPointed } from './caa.ts';
import { inZone, type ObservationContext } from './context.ts';
import {
  askBeside,
  askMistakes,
  askSiblings,
  chainOf,
  nothingNearby,
  siblingOf,
} from './nearby.ts';
import { allOf, answering, type Seen, untoldView } from './server-view.ts';
import { pointingOfViews, targetAddressesOf } from './target.ts';
import { observeWorld } from './world.ts';
import { thoseThatAnswer, viewZone, withSoa } from './zone-views.ts';

type ZoneObservation = Pick<
  Observation,
  'servers' | 'world' | 'nearby' | 'caa' | 'targetAddresses'
> & {
  readonly delegation: Delegation | null;
};

/** Makes a whole check that starts at what is known of the zone. Never rejects for what the network does. */
export async function observeInFull(
  context: ObservationContext,
  start: Zone | Unregistered | NoZone,
): Promise<Observation> {
  const found = start.kind === 'zone' ? await observeZone(context, start) : withoutZone(start);
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
function withoutZone(start: Unregistered | NoZone): ZoneObservation {
  const nothing = { world: [], nearby: nothingNearby, caa: null, targetAddresses: [] };
  if (start.kind !== 'unregistered') {
    const address = start.server === NOBODY ? null : start.server;
    const view = untoldView(start.server, address, untold(start.kind));
    return { ...nothing, delegation: null, servers: [view] };
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
  const { zone, seen, atZone } = await viewZone(given, start);
  const answered = thoseThatAnswer(seen);
  if (answered.length === 0) return withoutAnswer(given, zone, seen);
  const delegation = delegationOf(zone, atZone);
  const context = inZone(given, delegation);
  const { check } = context;
  const views = seen.map(({ view }) => view);
  const targetAddresses = await targetAddressesOf(context, views, false);
  const pointing = pointingOfViews(check, views, targetAddresses);
  const answeringNames = new Set(answered.map(({ server }) => server.name));
  const [around, caa, world] = await Promise.all([
    observeAround(context, zone, seen, pointing),
    climbAsIfPointed(context, false, answeringNames),
    // Resolvers are asked only once the record is right: an earlier question would make them remember "there is none"
    // (RFC 2308, 5).
    pointing === 'right' ? observeWorld(context) : [],
  ]);
  return {
    delegation,
    servers: around.servers,
    nearby: around.nearby,
    caa,
    world,
    targetAddresses,
  };
}

/**
 * Nothing is known of the name, so nothing else is asked. The zone is forgotten: the next check finds out who is
 * responsible.
 */
function withoutAnswer(
  { parts, check }: ObservationContext,
  zone: Zone,
  [first, ...rest]: readonly [Seen, ...Seen[]],
): ZoneObservation {
  parts.authorities.forget(zone, check.hostname);
  return {
    delegation: delegationOf(zone, null),
    servers: [first.view, ...rest.map(({ view }) => view)],
    world: [],
    nearby: nothingNearby,
    caa: null,
    targetAddresses: [],
  };
}

/** Asks for what explains a name that is wrong; for one that is right, whether a wildcard answers, and each server's SOA. */
async function observeAround(
  context: ObservationContext,
  zone: Zone,
  seen: readonly [Seen, ...Seen[]],
  pointing: 'right' | 'wrong' | 'unknown',
): Promise<{ readonly servers: Observation['servers']; readonly nearby: Nearby }> {
  const answered = thoseThatAnswer(seen);
  const [one] = answered;
  const wrong = pointing === 'wrong' && one !== undefined;
  const names = new Set(answered.map(({ server }) => server.name));
  const [siblings, mistakes, beside, chain] = await Promise.all([
    askSiblings(context, zone, pointing === 'right' ? answered : answered.slice(0, 1)),
    wrong ? askMistakes(context, zone, one) : { doubled: null, wrongHosts: [] },
    wrong && !context.check.apex ? askBeside(context, zone, answered) : null,
    wrong ? chainOf(context, answered, names) : null,
  ]);
  const views = await withSoa(context, zone, seen, siblings);
  const [first, ...rest] = views.map((view) =>
    view.server === beside?.server ? { ...view, mx: beside.mx, txt: beside.txt } : view,
  );
  return {
    servers: [first ?? seen[0].view, ...rest],
    nearby: { ...mistakes, sibling: siblingOf(siblings), chain },
  };
}
