/** What each server of a host name's zone answers. */

import type { ServerView } from '../../core/diagnosis/observation.ts';
import { REFERRALS_MAX } from '../servers/delegation.ts';
import { queryOrder } from '../servers/query-order.ts';
import { type NameServer, noReply, type Referral } from '../servers/reply.ts';
import { recordsAt, serverAddresses, shortestTtl } from '../servers/select.ts';
import {
  loadedFailure,
  type OwnServers,
  rememberMs,
  sortedServers,
  withOwnServers,
  type Zone,
} from '../servers/zone.ts';
import { isSpent } from '../wire/budget.ts';
import type { ObservationContext } from './context.ts';
import { type ServerSeen, silent, viewOfServer } from './server-view.ts';

/** One view per server of a zone. */
export type ZoneViews = {
  /** After following referrals. */
  readonly zone: Zone;
  readonly seen: readonly [ServerSeen, ...ServerSeen[]];
  /** The zone's own NS set; null if no server answered. */
  readonly atZone: OwnServers;
};

/** Concurrently, and after a referral the child zone's servers. Endless referrals fail. */
export async function viewZone(context: ObservationContext, start: Zone): Promise<ZoneViews> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const views = await viewAll(context, zone);
    if (!('kind' in views)) return views;
    zone = context.parts.authorities.delegated(views, zone);
  }
  return { zone, seen: atLeastOne(zone, []), atZone: null };
}

/** The delegated servers and, if one answers, those listed only by the zone itself. */
async function viewAll(context: ObservationContext, zone: Zone): Promise<ZoneViews | Referral> {
  const seen = await viewInTurns(context, zone);
  if ('kind' in seen) return seen;
  const atZone = await ownServers(context, zone, thoseThatAnswer(seen));
  const whole = withOwnServers(zone, atZone);
  const others = await viewServers(context, whole, whole.servers.slice(zone.servers.length));
  if ('kind' in others) return others;
  return { zone: whole, seen: atLeastOne(zone, [...seen, ...others]), atZone };
}

/** Skipped if there is nothing to compare. */
async function ownServers(
  context: ObservationContext,
  zone: Zone,
  [one]: readonly ServerSeen[],
): Promise<OwnServers> {
  if (one === undefined || zone.delegation === null) return null;
  return context.parts.authorities.ownServers(zone, context.budget, async () => {
    const question = { name: zone.name, type: 'NS' } as const;
    const { reply } = await context.askServer(zone, one.server, question);
    if (reply.kind !== 'message') return loadedFailure(null);
    const { answers, additional } = reply.message;
    const records = recordsAt(answers, zone.name, 'NS');
    if (records.length === 0) return loadedFailure(null);
    const value = sortedServers(
      records.map(({ target: name }) => ({ name, glue: serverAddresses(additional, name) })),
    );
    return { value, ttlMs: rememberMs(shortestTtl(records)), failed: false };
  });
}

/** An unusable delegation or endless referrals result in one failed view. */
function atLeastOne(
  zone: Zone,
  seen: readonly ServerSeen[],
): readonly [ServerSeen, ...ServerSeen[]] {
  const [first, ...rest] = seen;
  if (first !== undefined) return [first, ...rest];
  return [silent({ name: zone.name, glue: [] }, null, noReply('servfail'))];
}

// What the servers of a zone answer for the host name: some of many, and more if those are silent.

/**
 * Further groups only if none of the first answers, while the budget lasts. After a group with a name
 * that has no address, only servers whose address the parent zone gives: such names can belong to a
 * victim that must not get dozens of queries (NXNSAttack).
 */
async function viewInTurns(
  context: ObservationContext,
  zone: Zone,
): Promise<readonly ServerSeen[] | Referral> {
  const all: ServerSeen[] = [];
  for (const turn of queryOrder(zone.servers, context.parts.now().getTime())) {
    if (all.length > 0 && isSpent(context.budget)) break;
    const areAllFound = all.every(({ view }) => view.address !== null);
    const servers = areAllFound ? turn : turn.filter(({ glue }) => glue.length > 0);
    const seen = await viewServers(context, zone, servers);
    if ('kind' in seen) return seen;
    all.push(...seen);
    if (thoseThatAnswer(seen).length > 0) break;
  }
  return all;
}

/** Concurrently, in the same order; a referral if one of them refers. */
async function viewServers(
  context: ObservationContext,
  zone: Zone,
  servers: readonly NameServer[],
): Promise<readonly ServerSeen[] | Referral> {
  // For the last of several, MX takes the place of A. An apex can have mail.
  const last = servers.length > 1 && !context.check.apex ? servers.at(-1) : undefined;
  const all = await Promise.all(
    servers.map((server) => viewOfServer(context, zone, server, server === last)),
  );
  const referral = all.find((one): one is Referral => 'kind' in one);
  if (referral !== undefined) return referral;
  const seen = all.filter((one): one is ServerSeen => !('kind' in one));
  if (last === undefined || !seen.some(({ view }) => hasBoth(view))) return seen;
  // Only the A query shows addresses beside an alias.
  const again = await viewOfServer(context, zone, last);
  return 'kind' in again ? again : [...seen.slice(0, -1), again];
}

function hasBoth({ cname, a }: ServerView): boolean {
  return cname.kind === 'records' && a.kind === 'records';
}

/** In the same order. */
export function thoseThatAnswer(seen: readonly ServerSeen[]): readonly ServerSeen[] {
  return seen.filter(({ view }) => view.state === 'answers');
}
