/** A whole look by the word of the zone's own servers, and of the world's where those have it right. */
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
import { inZone, type LookContext } from './context.ts';
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
import { lookAtWorld } from './world.ts';
import { thoseThatAnswer, viewZone, withSoa } from './zone-views.ts';

type ZoneLook = Pick<Observation, 'servers' | 'world' | 'nearby' | 'caa' | 'targetAddresses'> & {
  readonly delegation: Delegation | null;
};

/** Never rejects for what the network does. */
export async function lookAtAll(
  context: LookContext,
  start: Zone | Unregistered | NoZone,
): Promise<Observation> {
  const found = start.kind === 'zone' ? await lookAtZone(context, start) : withoutZone(start);
  return {
    hostname: context.look.hostname,
    at: context.at,
    view: 'authoritative',
    whyRecursive: null,
    ...found,
    cost: context.cost(),
  };
}

/** The registry's denial, or a resolver that does not know where to ask: there is nobody else to hear. */
function withoutZone(start: Unregistered | NoZone): ZoneLook {
  const nothing = { world: [], nearby: nothingNearby, caa: null, targetAddresses: [] };
  if (start.kind !== 'unregistered') {
    const address = start.server === NOBODY ? null : start.server;
    const view = untoldView(start.server, address, untold(start.kind));
    return { ...nothing, delegation: null, servers: [view] };
  }
  const { zone, parent, server, address, told } = start;
  const view: ServerView = {
    server,
    address,
    ...answering(told),
    ...allOf({ kind: 'nxdomain' }),
    mx: null,
    txt: null,
    soa: soaIn(told.message, zone),
  };
  return { ...nothing, delegation: { kind: 'unregistered', zone, parent }, servers: [view] };
}

async function lookAtZone(given: LookContext, start: Zone): Promise<ZoneLook> {
  const { zone, seen, atZone } = await viewZone(given, start);
  const told = thoseThatAnswer(seen);
  if (told.length === 0) return withoutAnswer(given, zone, seen);
  const delegation = delegationOf(zone, atZone);
  const context = inZone(given, delegation);
  const { look } = context;
  const views = seen.map(({ view }) => view);
  const targetAddresses = await targetAddressesOf(context, views, false);
  const pointing = pointingOfViews(look, views, targetAddresses);
  const answeringNames = new Set(told.map(({ server }) => server.name));
  const [around, caa, world] = await Promise.all([
    lookAround(context, zone, seen, pointing),
    climbAsIfPointed(context, false, answeringNames),
    pointing === 'right' ? lookAtWorld(context) : [],
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

/** Nothing is known of the name, so nothing else is worth asking. The next look finds out anew who is responsible. */
function withoutAnswer(
  { parts, look }: LookContext,
  zone: Zone,
  [first, ...rest]: readonly [Seen, ...Seen[]],
): ZoneLook {
  parts.authorities.forget(zone, look.hostname);
  return {
    delegation: delegationOf(zone, null),
    servers: [first.view, ...rest.map(({ view }) => view)],
    world: [],
    nearby: nothingNearby,
    caa: null,
    targetAddresses: [],
  };
}

/** What explains a name that is wrong; of one that is right, whether a wildcard answers, and each server's SOA. */
async function lookAround(
  context: LookContext,
  zone: Zone,
  seen: readonly [Seen, ...Seen[]],
  pointing: 'right' | 'wrong' | 'unknown',
): Promise<{ readonly servers: Observation['servers']; readonly nearby: Nearby }> {
  const told = thoseThatAnswer(seen);
  const [one] = told;
  const wrong = pointing === 'wrong' && one !== undefined;
  const names = new Set(told.map(({ server }) => server.name));
  const [siblings, mistakes, beside, chain] = await Promise.all([
    askSiblings(context, zone, pointing === 'right' ? told : told.slice(0, 1)),
    wrong ? askMistakes(context, zone, one) : { doubled: null, wrongHosts: [] },
    wrong && !context.look.apex ? askBeside(context, zone, told) : null,
    wrong ? chainOf(context, told, names) : null,
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
