/** A process with visitors that only do TLS handshakes. */
import { ended, run, saidUntil } from '../support/processes.ts';
import type { Handshakes, HandshakesAsked } from './handshakes-load.ts';

/** Rejects if one handshake fails or a certificate is not valid for its name. */
export async function shakeHands(asked: HandshakesAsked): Promise<Handshakes> {
  const child = run('./handshakes-load.js', import.meta.url, {
    env: { ASKED: JSON.stringify(asked) },
  });
  const handshakes: Handshakes = JSON.parse(await saidUntil(child, /\n/));
  await ended(child);
  return handshakes;
}
