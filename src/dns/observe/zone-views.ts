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

/** Returns those that answered about the host name, in the same order. */
export function thoseThatAnswer(seen: readonly Seen[]): readonly Seen[] {
  return seen.filter(({ view }) => view.state === 'answers');
}

/**
 * Resolves with the views, each with the SOA record of its server: from a reply that came already, else asked for. Null
 * where the server does not answer or shows none. The order is kept.
 */
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
