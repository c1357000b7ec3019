/** What stands at a name as TXT, by the word of every server of its zone: asked where a record is to prove something. */
import type { Answer } from '../../core/diagnosis/observation.ts';
import { REFERRALS_MAX } from '../servers/delegation.ts';
import { failureOf } from '../servers/reply.ts';
import type { Zone } from '../servers/zone.ts';
import type { Budget } from '../wire/budget.ts';
import type { Parts } from './context.ts';
import { answerOf } from './server-view.ts';

/** As long as a name can be, in characters: 255 octets on the wire. */
const NAME_MAX = 253;

/**
 * One answer of each server; of the resolvers where the zone's own servers are not to be asked or out of reach. An alias
 * is not followed: it says that there is no TXT record at the name itself. Empty for a name that cannot be asked.
 */
export async function lookupTexts(
  parts: Parts,
  name: string,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  if (name.length > NAME_MAX) return [];
  const { config, reachability, authorities } = parts;
  if (!config.authoritative || reachability.isBlocked()) return askResolver(parts, name, budget);
  const start = await authorities.zoneFor(name, budget);
  switch (start.kind) {
    case 'unreached':
      return askResolver(parts, name, budget);
    case 'unregistered':
      return [answerOf(start.reply, name, 'TXT')];
    case 'zone':
      return askServers(parts, name, start, budget);
    default:
      return [failureOf(start)];
  }
}

/** All at once, and again those of the zone below where one of them refers to it. */
async function askServers(
  { asker, authorities }: Parts,
  name: string,
  start: Zone,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  let zone = start;
  for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
    const asked = zone.servers.map((server) =>
      asker.ask(zone.name, server, { name, type: 'TXT' }, budget),
    );
    const replies = (await Promise.all(asked)).map(({ reply }) => reply);
    const referral = replies.find((reply) => reply.kind === 'referral');
    if (referral === undefined) return replies.map((reply) => answerOf(reply, name, 'TXT'));
    zone = authorities.delegated(referral, zone);
  }
  return [];
}

async function askResolver(
  { recursive }: Parts,
  name: string,
  budget: Budget,
): Promise<readonly Answer<string>[]> {
  const { reply } = await recursive.ask(name, 'TXT', budget);
  return [answerOf(reply, name, 'TXT')];
}
