/** Each server of the host name's zone, asked by itself. */
import type { ServerView } from '../../core/observation.ts';
import { type Referral, untold } from '../ask/reply.ts';
import { soaIn } from '../ask/select.ts';
import { REFERRALS_MAX } from '../zones/delegation.ts';
import type { Zone } from '../zones/zone.ts';
import type { LookContext } from './context.ts';
import type { Siblings } from './nearby.ts';
import { type Seen, silent, viewOfServer } from './server-view.ts';

/** The zone the host name is in after all, and what its servers show; never empty. */
export type ZoneViews = { readonly zone: Zone; readonly seen: readonly [Seen, ...Seen[]] };

/** Asks all servers at once, and again those of the zone below where one of them refers to it. */
export async function viewZone(context: LookContext, start: Zone): Promise<ZoneViews> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const at = zone;
    const all = await Promise.all(at.servers.map((server) => viewOfServer(context, at, server)));
    const referral = all.find((one): one is Referral => 'kind' in one);
    if (referral === undefined) {
      return {
        zone,
        seen: atLeastOne(
          zone,
          all.filter((one): one is Seen => !('kind' in one)),
        ),
      };
    }
    zone = context.parts.authorities.delegated(referral, zone);
  }
  return { zone, seen: atLeastOne(zone, []) };
}

/** Those that told something about the host name. */
export function thoseThatAnswer(seen: readonly Seen[]): readonly Seen[] {
  return seen.filter(({ view }) => view.state === 'answers');
}

/** The views with the SOA record of each server that answers: from what it has said already, else asked for. */
export function withSoa(
  context: LookContext,
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
