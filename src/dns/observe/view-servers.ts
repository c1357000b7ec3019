/** What the servers of a zone answer for the host name: some of many, and more if those are silent. */
import type { ServerView } from '../../core/diagnosis/observation.ts';
import { queryOrder } from '../servers/query-order.ts';
import type { NameServer, Referral } from '../servers/reply.ts';
import type { Zone } from '../servers/zone.ts';
import { isSpent } from '../wire/budget.ts';
import type { ObservationContext } from './context.ts';
import { type ServerSeen, viewOfServer } from './server-view.ts';

/**
 * Further groups only if none of the first answers, while the budget lasts. After a group with a name
 * that has no address, only servers whose address the parent zone gives: such names can belong to a
 * victim that must not get dozens of queries (NXNSAttack).
 */
export async function viewInTurns(
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
export async function viewServers(
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
