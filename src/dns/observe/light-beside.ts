/** The query of a light check beside A: what A does not show can have changed. */

import type { DnsAnswer, Observation, ServerView } from '../../core/diagnosis/observation.ts';
import { HOUR } from '../../core/time.ts';
import type { Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import { answerOf, isSame } from './server-view.ts';
import { pointingOfViews } from './target.ts';

/** While one server that was wrong is unchanged, the name is still wrong. */
export async function isSameBesideA(
  context: ObservationContext,
  zone: Zone,
  { servers, targetAddresses }: Observation,
): Promise<boolean> {
  const { check } = context;
  const asked = servers.filter((view) => view.state === 'answers' && wasAskedForAaaa(view));
  const isWrong = (one: ServerView) => pointingOfViews(check, [one], targetAddresses) !== 'right';
  const view =
    asked.find((one) => isWrong(one) && one.mx !== null) ?? asked.find(isWrong) ?? asked[0];
  const server = zone.servers.find(({ name }) => name === view?.server);
  if (view === undefined || server === undefined) return true;
  const [type, before] = nextQuery(context, view);
  const { reply } = await context.askServer(zone, server, { name: check.hostname, type });
  return (
    isSame(answerOf(reply, check.hostname, type), before) &&
    isSameBeside(answerOf(reply, check.hostname, 'CNAME'), view)
  );
}

type BesideQuery = readonly [type: 'AAAA' | 'MX' | 'TXT', before: DnsAnswer<string>];

/** Longer than the time between two checks of a pending domain. */
const TURN_MS = HOUR;

/**
 * AAAA, MX and TXT in turns, if a full check queried all three. Some providers, such as Route 53, never
 * change a zone's serial number, so it does not show that MX or TXT have changed. AAAA records
 * that the customer has to delete are queried in every check.
 */
function nextQuery(
  { parts: { besideTurns }, check: { hostname } }: ObservationContext,
  { cname, aaaa, mx, txt }: ServerView,
): BesideQuery {
  const hasTurns = cname.kind === 'nodata' && aaaa.kind === 'nodata';
  if (!hasTurns || mx === null || txt === null) return ['AAAA', aaaa];
  const all = [
    ['AAAA', aaaa],
    ['MX', mx],
    ['TXT', txt],
  ] as const;
  const turn = besideTurns.peek(hostname) ?? 0;
  besideTurns.put(hostname, { value: turn + 1, ttlMs: TURN_MS, failed: false });
  return all[turn % all.length] ?? all[0];
}

/** AAAA records hide an alias. */
function isSameBeside(alias: DnsAnswer<string>, { cname, aaaa }: ServerView): boolean {
  if (alias.kind === 'records') return isSame(alias, cname);
  return cname.kind !== 'records' || aaaa.kind === 'records';
}

function wasAskedForAaaa({ cname, a }: ServerView): boolean {
  return cname.kind === 'nodata' || (cname.kind === 'records' && a.kind === 'records');
}
