/** The work's result, or `late` after `ms`; the work then continues unobserved. Rejects as it does. */
export async function beforeDeadline<T, Late>(
  ms: number,
  work: Promise<T>,
  late: Late,
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, TIMER_MS_MAX), late);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer); // it would keep an idle process alive
  }
}

/** As `beforeDeadline`, until `signal` is aborted. */
export async function beforeAbort<T, Late>(
  signal: AbortSignal,
  work: Promise<T>,
  late: Late,
): Promise<T | Late> {
  let give = () => {};
  const aborted = new Promise<Late>((resolve) => {
    give = () => resolve(late);
    if (signal.aborted) give();
    signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}

/** The longest delay of a Node.js timer; longer ones fire at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

const ANSWER_MS = 2_000;

/** False if it rejects or takes longer than 2 s. */
export function answersInTime(asking: Promise<unknown>): Promise<boolean> {
  const answered = asking.then(
    () => true,
    () => false,
  );
  return beforeDeadline(ANSWER_MS, answered, false);
}
