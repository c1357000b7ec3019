/** What the servers of a zone show at the host name: some of many, and others where those say nothing. */
import type { ServerView } from '../../core/diagnosis/observation.ts';
import type { NameServer, Referral } from '../servers/reply.ts';
import { inTurns } from '../servers/turns.ts';
import type { Zone } from '../servers/zone.ts';
import { isSpent } from '../wire/budget.ts';
import type { ObservationContext } from './context.ts';
import { type Seen, viewOfServer } from './server-view.ts';

/** Of many servers some; the others where none of those says anything, as long as the budget lasts. */
export async function viewInTurns(
  context: ObservationContext,
  zone: Zone,
): Promise<readonly Seen[] | Referral> {
  const all: Seen[] = [];
  for (const servers of inTurns(zone.servers, context.parts.now().getTime())) {
    if (all.length > 0 && isSpent(context.budget)) break;
    const seen = await viewServers(context, zone, servers);
    if ('kind' in seen) return seen;
    all.push(...seen);
    // Names without addresses may be somebody else's, who is not to be asked for dozens of them (NXNSAttack).
    const areAllFound = seen.every(({ view }) => view.address !== null);
    if (thoseThatAnswer(seen).length > 0 || !areAllFound) break;
  }
  return all;
}

/** What each shows, in their order; the referral where one of them refers. */
export async function viewServers(
  context: ObservationContext,
  zone: Zone,
  servers: readonly NameServer[],
): Promise<readonly Seen[] | Referral> {
  // The last of several is asked for mail in place of A, which costs nothing where the record is there. Mail of an apex
  // is in nobody's way.
  const last = servers.length > 1 && !context.check.apex ? servers.at(-1) : undefined;
  const all = await Promise.all(
    servers.map((server) => viewOfServer(context, zone, server, server === last)),
  );
  const referral = all.find((one): one is Referral => 'kind' in one);
  if (referral !== undefined) return referral;
  const seen = all.filter((one): one is Seen => !('kind' in one));
  if (last === undefined || !seen.some(({ view }) => hasBoth(view))) return seen;
  // Addresses beside an alias show by the question for them alone.
  const again = await viewOfServer(context, zone, last);
  return 'kind' in again ? again : [...seen.slice(0, -1), again];
}

function hasBoth({ cname, a }: ServerView): boolean {
  return cname.kind === 'records' && a.kind === 'records';
}

/** Returns those that answered about the host name, in the same order. */
export function thoseThatAnswer(seen: readonly Seen[]): readonly Seen[] {
  return seen.filter(({ view }) => view.state === 'answers');
}
