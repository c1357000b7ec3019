/** What a light check asks in place of A and beside it, without a question more: a changed MX or TXT shows as well. */
import type { Answer, Observation, ServerView } from '../../core/diagnosis/observation.ts';
import type { Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import { answerOf, isSame } from './server-view.ts';
import { pointingOfViews } from './target.ts';

/**
 * Where A says there is nothing, or nothing wrong, the rest may have changed. One server is asked, one that was not
 * right: while that shows the same, the name is as wrong as it was. For AAAA, or where no other server could be asked
 * (`drawn`) for AAAA, MX or TXT: a zone whose serial number never moves (Amazon's) says of none that it has changed.
 */
export async function isSameBesideA(
  context: ObservationContext,
  zone: Zone,
  { servers, targetAddresses }: Observation,
  drawn: boolean,
): Promise<boolean> {
  const { check } = context;
  const asked = servers.filter((view) => view.state === 'answers' && wasAskedForAaaa(view));
  const view =
    asked.find((one) => pointingOfViews(check, [one], targetAddresses) !== 'right') ?? asked[0];
  const server = zone.servers.find(({ name }) => name === view?.server);
  if (view === undefined || server === undefined) return true;
  const [type, before] = drawn ? oneOf('AAAA', view) : (['AAAA', view.aaaa] as const);
  const { reply } = await context.askServer(zone, server, { name: check.hostname, type });
  return (
    isSame(answerOf(reply, check.hostname, type), before) &&
    isSameBeside(answerOf(reply, check.hostname, 'CNAME'), view)
  );
}

/**
 * Draws `type`, MX or TXT, with what the server showed of it: only of the one that a full check asked for all of them, so
 * that the others are asked for A, and without an alias, as then each of the three shows one that has come.
 */
export function oneOf(
  type: 'A' | 'AAAA',
  { cname, a, aaaa, mx, txt }: ServerView,
): readonly [type: 'A' | 'AAAA' | 'MX' | 'TXT', before: Answer<string>] {
  const usual = [type, type === 'A' ? a : aaaa] as const;
  if (cname.kind !== 'nodata' || mx === null || txt === null) return usual;
  const all = [usual, ['MX', mx] as const, ['TXT', txt] as const];
  return all[Math.floor(Math.random() * all.length)] ?? usual;
}

/** The alias of the AAAA answer, which shows none where there are AAAA records as well. */
function isSameBeside(alias: Answer<string>, { cname, aaaa }: ServerView): boolean {
  if (alias.kind === 'records') return isSame(alias, cname);
  return cname.kind !== 'records' || aaaa.kind === 'records';
}

function wasAskedForAaaa({ cname, a }: ServerView): boolean {
  return cname.kind === 'nodata' || (cname.kind === 'records' && a.kind === 'records');
}
