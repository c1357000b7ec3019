/** Whether our own resolvers work, asked where their failure would otherwise be blamed on a zone. */
import { recordsAt } from '../servers/select.ts';
import type { ObservationContext } from './context.ts';

/**
 * Asks for the name servers of the host name's top-level domain, which nothing private is in and every resolver knows:
 * one that fails for that is cut off or broken, whatever it says of the domain. One question to each, at most.
 */
export async function resolversWork({
  parts,
  whole,
  check: { hostname },
}: ObservationContext): Promise<boolean> {
  const topLevel = hostname.slice(hostname.lastIndexOf('.') + 1);
  const { reply } = await parts.recursive.ask(topLevel, 'NS', whole);
  return reply.kind === 'message' && recordsAt(reply.message.answers, topLevel, 'NS').length > 0;
}
