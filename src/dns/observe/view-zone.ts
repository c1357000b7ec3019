/** What each server of a host name's zone answers. */
import { REFERRALS_MAX } from '../servers/delegation.ts';
import { noReply, type Referral } from '../servers/reply.ts';
import { recordsAt, serverAddresses, shortestTtl } from '../servers/select.ts';
import {
  loadedFailure,
  type OwnServers,
  rememberMs,
  sortedServers,
  withOwnServers,
  type Zone,
} from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import { type ServerSeen, silent } from './server-view.ts';
import { thoseThatAnswer, viewInTurns, viewServers } from './view-servers.ts';

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
