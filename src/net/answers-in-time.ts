import { setTimeout as wait } from 'node:timers/promises';

const ANSWER_MS = 2_000;

/** False if it rejects or takes longer (it then continues unobserved). Never rejects. */
export async function answersInTime(asking: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const late = wait(ANSWER_MS, false, { signal: limit.signal }).catch(() => false);
  const answer = asking.then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    // Otherwise the timer would keep an idle process alive.
    limit.abort();
  }
}
