import { isUnavailable } from '../../src/db/engine/unavailable.ts';
import { isQueueUnavailable } from '../../src/queue/backend.ts';

/** The database or the queue does not answer. */
export function isOutage(fault: unknown): boolean {
  return isUnavailable(fault) || isQueueUnavailable(fault);
}

/** The process logs an outage once (src/ops/outages.ts). */
export function logLevelOf(fault: unknown): 'debug' | 'error' {
  return isOutage(fault) ? 'debug' : 'error';
}
