/** I4: no second order while one is open, here and at the certificate authority. */
import { few, type Invariant } from './invariant.ts';

export const orders: Invariant = {
  id: 'I4',
  words: 'no second order is placed while one is open',
  async check({ system }, { mayLoseOrders }) {
    const overlapping = await system.sql<{ hostname: string }>(
      `SELECT one.hostname FROM certificate AS one JOIN certificate AS other
         ON other.domain_id = one.domain_id AND other.id <> one.id
         AND other.created_at > one.created_at
         AND other.created_at < coalesce(one.ended_at, one.issued_at, now())`,
    );
    const stored = await system.sql<{ url: string }>(
      `SELECT order_url AS url FROM certificate WHERE order_url IS NOT NULL`,
    );
    // A domain that is removed while its order is being placed has no row to write that into.
    const removed = await system.sql<{ hostname: string }>(
      'SELECT hostname FROM domain WHERE removed_at IS NOT NULL',
    );
    const known = new Set(stored.map(({ url }) => url));
    const gone = new Set(removed.map(({ hostname }) => hostname));
    const lost = system.authority.placed.filter(
      ({ hostname, url }) => !known.has(url) && !excused.has(url) && !gone.has(hostname),
    );
    for (const { url } of lost) excused.add(url); // told once
    return few([
      ...overlapping.map(({ hostname }) => `${hostname} had two orders open at once`),
      ...(mayLoseOrders ? [] : lost.map(({ hostname }) => `an order of ${hostname} was forgotten`)),
    ]);
  },
};

/** Orders of earlier faults. */
const excused = new Set<string>();
