/** Unpredictable 16-bit numbers, drawn from the system in batches: a draw of its own for each question is slow. */
import { randomFillSync } from 'node:crypto';

const BATCH = 2048;

/** A source of numbers from 0 to 65535 that nobody can guess (RFC 5452, 9.2). */
export function createRandom16(): () => number {
  const batch = new Uint16Array(BATCH);
  let next = BATCH;
  return () => {
    if (next >= BATCH) {
      randomFillSync(batch);
      next = 0;
    }
    return batch[next++] ?? 0;
  };
}
