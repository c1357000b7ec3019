/** Which faults mean that the queue's server cannot be reached just now. One in PostgreSQL: src/db/engine/unavailable.ts. */

/** ioredis (6.0) gives these no code, so its words are the only sign there is; test/queue/outages.test.ts provokes them. */
const unavailableMessages: ReadonlySet<string> = new Set([
  'Connection is closed.',
  'Command timed out',
  "Stream isn't writeable and enableOfflineQueue options is false",
]);

/** Answers of a Redis that starts, follows another or has lost its cluster. */
const notReady = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/;

/** Whether a fault of ioredis or BullMQ says so. */
export function isQueueUnavailable(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  return (
    fault.name === 'MaxRetriesPerRequestError' ||
    unavailableMessages.has(fault.message) ||
    notReady.test(fault.message)
  );
}
