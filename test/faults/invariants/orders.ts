/** I4: no second order while one is open, in the database and at the CA. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../fault.ts';
import { few, type Invariant } from './invariant.ts';

type System = World['system'];
type Placed = System['authority']['placed'][number];

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
    const lost = await lostOrders(system);
    for (const { url } of lost) excused.add(url); // reported once
    return few([
      ...overlapping.map(({ hostname }) => `${hostname} had two orders open at once`),
      ...(mayLoseOrders ? [] : lost.map(({ hostname }) => `an order of ${hostname} was forgotten`)),
    ]);
  },
};

/** Longer than a worker takes to store an order's URL, even on a machine that stalls. */
const WRITTEN_MS = 20_000;

/** Placed orders whose URL no row has or gets while waiting. */
async function lostOrders(system: System): Promise<readonly Placed[]> {
  const placed = [...system.authority.placed];
  const deadline = Date.now() + WRITTEN_MS;
  for (;;) {
    const lost = await withoutRow(system, placed);
    if (lost.length === 0 || Date.now() > deadline) return lost;
    await sleep(500);
  }
}

async function withoutRow(system: System, placed: readonly Placed[]): Promise<readonly Placed[]> {
  const stored = await system.sql<{ url: string }>(
    `SELECT order_url AS url FROM certificate WHERE order_url IS NOT NULL`,
  );
  // A domain removed while its order is placed has no row for the URL.
  const removed = await system.sql<{ hostname: string }>(
    'SELECT hostname FROM domain WHERE removed_at IS NOT NULL',
  );
  const known = new Set(stored.map(({ url }) => url));
  const gone = new Set(removed.map(({ hostname }) => hostname));
  return placed.filter(
    ({ hostname, url }) => !known.has(url) && !excused.has(url) && !gone.has(hostname),
  );
}

/** Orders of earlier faults. */
const excused = new Set<string>();
