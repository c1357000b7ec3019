/** Each server of the host name's zone, asked by itself. */
import type { ServerView } from '../../core/diagnosis/observation.ts';
import type { OwnServers } from '../servers/authorities.ts';
import { REFERRALS_MAX } from '../servers/delegation.ts';
import { type NameServer, type Referral, untold } from '../servers/reply.ts';
import { recordsAt, shortestTtl, soaIn } from '../servers/select.ts';
import { failed, rememberMs, sortedNames, withOwnServers, type Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import type { Siblings } from './nearby.ts';
import { type Seen, silent, viewOfServer } from './server-view.ts';

/**
 * The zone the host name is in after all, what its servers show, which is never empty, and the zone's own NS set; null
 * where none of them told it.
 */
export type ZoneViews = {
  readonly zone: Zone;
  readonly seen: readonly [Seen, ...Seen[]];
  readonly atZone: OwnServers;
};

/** Asks all servers at once, and again those of the zone below where one of them refers to it. */
export async function viewZone(context: ObservationContext, start: Zone): Promise<ZoneViews> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const views = await viewAll(context, zone);
    if (!('kind' in views)) return views;
    zone = context.parts.authorities.delegated(views, zone);
  }
  return { zone, seen: atLeastOne(zone, []), atZone: null };
}

/** First those of the delegation; where one of them tells, those that only the zone itself names. */
async function viewAll(context: ObservationContext, zone: Zone): Promise<ZoneViews | Referral> {
  const seen = await viewServers(context, zone, zone.servers);
  if ('kind' in seen) return seen;
  const atZone = await ownServers(context, zone, thoseThatAnswer(seen));
  const whole = withOwnServers(zone, atZone);
  const others = await viewServers(context, whole, whole.servers.slice(zone.servers.length));
  if ('kind' in others) return others;
  return { zone: whole, seen: atLeastOne(zone, [...seen, ...others]), atZone };
}

async function viewServers(
  context: ObservationContext,
  zone: Zone,
  servers: readonly NameServer[],
): Promise<readonly Seen[] | Referral> {
  const all = await Promise.all(servers.map((server) => viewOfServer(context, zone, server)));
  const referral = all.find((one): one is Referral => 'kind' in one);
  return referral ?? all.filter((one): one is Seen => !('kind' in one));
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

/** Those that told something about the host name. */
export function thoseThatAnswer(seen: readonly Seen[]): readonly Seen[] {
  return seen.filter(({ view }) => view.state === 'answers');
}

/** The views with the SOA record of each server that answers: from what it has said already, else asked for. */
export function withSoa(
  context: ObservationContext,
  zone: Zone,
  seen: readonly Seen[],
  siblings: Siblings | null,
): Promise<readonly ServerView[]> {
  return Promise.all(
    seen.map(async ({ view, server }) => {
      if (view.state !== 'answers' || view.soa !== null) return view;
      const beside = siblings?.replies.get(server.name);
      const known = beside?.kind === 'message' ? soaIn(beside.message, siblings?.name ?? '') : null;
      if (known !== null) return { ...view, soa: known };
      const { reply } = await context.askServer(zone, server, { name: zone.name, type: 'SOA' });
      return { ...view, soa: reply.kind === 'message' ? soaIn(reply.message, zone.name) : null };
    }),
  );
}

/** A delegation without a usable name server, or one that leads ever further down, leaves nobody to ask. */
function atLeastOne(zone: Zone, seen: readonly Seen[]): readonly [Seen, ...Seen[]] {
  const [first, ...rest] = seen;
  if (first !== undefined) return [first, ...rest];
  return [silent({ name: zone.name, glue: [] }, null, untold('servfail'))];
}
