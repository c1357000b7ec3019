/** The mark that our edge leaves on whatever it passes on (RFC 9110, 7.6.3), and who reads it. */
import type { IncomingHttpHeaders } from 'node:http';

/** How our edge calls itself in `Via`. */
export const PSEUDONYM = 'signpost';

/**
 * Whether a request has come through an edge of ours. No visitor can take the mark off again, so whoever must not be published
 * refuses what has it, wherever it listens.
 */
export function cameThroughEdge({ via = '' }: IncomingHttpHeaders): boolean {
  return via.split(',').some((hop) => hop.trim().split(/\s+/)[1] === PSEUDONYM);
}
