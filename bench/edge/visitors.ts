/** Visitors who only shake hands, in a process of their own. */
import { ended, run, saidUntil } from '../support/processes.ts';
import type { Handshakes, HandshakesAsked } from './handshakes-load.ts';

/** Rejects where a single handshake failed, or showed a certificate that does not hold for its name. */
export async function shakeHands(asked: HandshakesAsked): Promise<Handshakes> {
  const child = run('./handshakes-load.js', import.meta.url, {
    env: { ASKED: JSON.stringify(asked) },
  });
  const handshakes: Handshakes = JSON.parse(await saidUntil(child, /\n/));
  await ended(child);
  return handshakes;
}
