/** Servers that answer simple queries only; resolvers, also those of CAs, use EDNS and mixed case. */
import { isConclusive, type Observation } from '../../core/diagnosis/observation.ts';
import type { OwnServers, Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import { answerOf, type ServerSeen } from './server-view.ts';

/**
 * One query, only if a server does not even know its own zone: it returned no NS set, or none answered.
 */
export async function askPlainly(
  context: ObservationContext,
  zone: Zone,
  seen: readonly ServerSeen[],
  atZone: OwnServers,
): Promise<Pick<Observation, 'plainAnswer'>> {
  const one = seen.find(isStrange);
  if (one === undefined || atZone !== null || zone.delegation === null) return {};
  const { hostname: name } = context.check;
  const { reply } = await context.askServer(zone, one.server, { name, type: 'A', plain: true });
  const found = (['CNAME', 'A'] as const).map((type) => answerOf(reply, name, type));
  return found.some(({ kind }) => kind === 'records') ? { plainAnswer: true } : {};
}

function isStrange({ view: { state, rcode, cname, a } }: ServerSeen): boolean {
  if (state !== 'answers') return rcode !== null;
  return isConclusive(cname) && cname.kind !== 'records' && a.kind !== 'records';
}
