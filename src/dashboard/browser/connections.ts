/**
 * The connections that streams may take from a browser's windows: HTTP/1.1 has six to a host for all of them, and pages need
 * some (Web Locks: a lock for each, which ends with its window).
 */

/** Our choice: two are left for pages and what they ask for. */
const STREAMS_MAX = 4;

/** Our choice: so many windows side by side are seldom, and each look is a whole page. */
const POLL_MS = 10_000;

/** Opens once there is a connection for this window, which has it until the signal; until then it looks now and then. */
export async function whenFree(
  signal: AbortSignal,
  open: () => void,
  poll: () => void,
): Promise<void> {
  if (await hasOne(signal)) return open();
  if (signal.aborted) return;
  poll();
  const timer = setTimeout(() => void whenFree(signal, open, poll), POLL_MS);
  signal.addEventListener('abort', () => clearTimeout(timer));
}

async function hasOne(signal: AbortSignal): Promise<boolean> {
  for (let number = 0; number < STREAMS_MAX; number += 1) {
    if (await holds(`signpost connection ${number}`, signal)) return true;
  }
  return false;
}

function holds(name: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((settle, fail) => {
    const use = (lock: Lock | null) => {
      const isOurs = lock !== null && !signal.aborted;
      settle(isOurs);
      return isOurs
        ? new Promise<void>((done) => signal.addEventListener('abort', () => done()))
        : null;
    };
    navigator.locks.request(name, { ifAvailable: true }, use).catch(fail);
  });
}
