/** Whether our own resolvers work, before a zone is blamed for their failure. */
import { recordsAt } from '../servers/select.ts';
import type { ObservationContext } from './context.ts';

/**
 * Queries the name servers of the top-level domain, then those of another one: every resolver knows
 * these, and they reveal nothing private. At most two queries per resolver.
 */
export async function resolversWork({
  parts,
  whole,
  check: { hostname },
}: ObservationContext): Promise<boolean> {
  const topLevel = hostname.slice(hostname.lastIndexOf('.') + 1);
  for (const name of [topLevel, topLevel === 'com' ? 'org' : 'com']) {
    const { reply } = await parts.recursive.ask(name, 'NS', whole);
    if (reply.kind === 'message' && recordsAt(reply.message.answers, name, 'NS').length > 0) {
      return true;
    }
  }
  return false;
}
