/** I1: everything accepted has a next check or an end. */
import { few, type Invariant } from './invariant.ts';

type Row = { hostname: string; status: string };

export const accepted: Invariant = {
  id: 'I1',
  words: 'everything accepted has a next check or an end',
  async check({ system }) {
    const forgotten = await system.sql<Row>(
      `SELECT hostname, status FROM domain WHERE removed_at IS NULL AND CASE
         WHEN status IN ('pending', 'verified') THEN next_check_at IS NULL
         ELSE recheck_at IS NULL END`,
    );
    const unsent = await system.sql<{ id: string }>(
      `SELECT id FROM webhook_delivery WHERE status = 'pending'
         AND next_attempt_at IS NULL AND queued_at IS NULL`,
    );
    return few([
      ...forgotten.map(({ hostname, status }) => `${hostname} is ${status} without a next check`),
      ...unsent.map(({ id }) => `delivery ${id} waits for nothing`),
    ]);
  },
};
