import { isUnavailable } from '../db/engine/unavailable.ts';

/** The database or the queue does not answer, or cannot store anything. */
export function isOutage(fault: unknown): boolean {
  return isUnavailable(fault) || isQueueUnavailable(fault);
}

/** ioredis (6.0) gives these errors no code; test/queue/outages.test.ts provokes them. */
const unavailableMessages: ReadonlySet<string> = new Set([
  'Connection is closed.',
  'Command timed out',
  "Stream isn't writeable and enableOfflineQueue options is false",
]);

/** Responses of a Redis that starts, is a replica or has lost its cluster. */
const notReady = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/;

function isQueueUnavailable(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  return (
    fault.name === 'MaxRetriesPerRequestError' ||
    unavailableMessages.has(fault.message) ||
    notReady.test(fault.message)
  );
}
