/** Whether something that other processes stand behind answers in time. */
import { setTimeout as wait } from 'node:timers/promises';

const ANSWER_MS = 2_000;

/** False where it rejects, or takes more than two seconds, after which it goes on unheeded. Never rejects. */
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
    // Or the timer would keep a process alive that has nothing else to do.
    limit.abort();
  }
}
