/** Whether our own resolvers work, before a zone is blamed for their failure. */
import { recordsAt } from '../servers/select.ts';
import type { ObservationContext } from './context.ts';

/**
 * Queries the name servers of the top-level domain: every resolver knows these, and they reveal nothing
 * private. At most one query per resolver.
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
