/** What an answer to the watch means for the name, and for the server that gave it. */
import { digestOf } from '../../core/watch/watched-name.ts';
import type { Outcome } from '../servers/circuit-breaker.ts';
import { textsAt } from '../servers/select.ts';
import { hasResponded } from '../servers/throttle.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import { rcodes } from '../wire/message.ts';

/**
 * Returns the digest of what an answer shows; null where it says nothing about the name: none came, it is a failure, or the
 * server is not responsible.
 */
export function digestIn(answer: WireAnswer, hostname: string): number | null {
  if (answer.kind !== 'response' || !answer.message.authoritative) return null;
  const { message } = answer;
  const { rcode } = message;
  if (rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN) return null;
  const [cname, a] = [textsAt(message, hostname, 'CNAME'), textsAt(message, hostname, 'A')];
  return digestOf({ rcode, cname, a });
}

/** Returns what came of a question, whatever it says about the name; nothing where it could not be sent. */
export function outcomeOf(answer: WireAnswer): Outcome {
  if (answer.kind === 'not_asked') return 'nothing';
  return hasResponded(answer) ? 'answer' : 'silence';
}
