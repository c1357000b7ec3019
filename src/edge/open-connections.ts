/** Which connections are open for which domain, so that a removal also ends what is under way on them. */
import type { Socket } from 'node:net';
import type { EdgeDeps, EdgeLimits } from './deps.ts';

export type OpenConnections = {
  /** Watches a connection, idle or not, until it closes. It speaks for this one name only. */
  readonly add: (hostname: string, connection: Socket) => void;
  /** Destroys the connections that are open for a name. */
  readonly drop: (hostname: string) => void;
};

/** Our choice: of the ten connections to the database that a process has, most are left to visitors. */
const LOOKUPS_AT_ONCE = 4;

/**
 * While connections are open, asks for the route of each of their names again, `recheckMs` after the last round, and
 * drops a name without one: its domain may have been removed in another process. A look-up that fails drops nothing.
 */
export function createOpenConnections(
  { findRoute, log }: Pick<EdgeDeps, 'findRoute' | 'log'>,
  { recheckMs }: Pick<EdgeLimits, 'recheckMs'>,
): OpenConnections {
  const byHostname = new Map<string, Set<Socket>>();
  let isRoundDue = false;

  function scheduleRound(): void {
    if (isRoundDue || byHostname.size === 0) return;
    isRoundDue = true;
    setTimeout(() => void round(), recheckMs).unref();
  }

  async function round(): Promise<void> {
    const hostnames = [...byHostname.keys()].values();
    const faults: unknown[] = [];
    const lane = async () => {
      for (const hostname of hostnames) await recheck(hostname).catch((err) => faults.push(err));
    };
    await Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, lane));
    // One line a round: without its database the edge may have thousands of names open.
    if (faults.length > 0) {
      log.warn({ err: faults[0], count: faults.length }, 'open connections could not be rechecked');
    }
    isRoundDue = false;
    scheduleRound();
  }

  async function recheck(hostname: string): Promise<void> {
    if (!byHostname.has(hostname)) return; // closed since the round began
    if ((await findRoute(hostname)) === null) drop(hostname);
  }

  function drop(hostname: string): void {
    for (const connection of byHostname.get(hostname) ?? []) connection.destroy();
  }

  return {
    add(hostname, connection) {
      if (connection.destroyed) return; // its `close` may be over, and nothing else would take it out
      const connections = byHostname.get(hostname) ?? new Set();
      byHostname.set(hostname, connections.add(connection));
      connection.once('close', () => {
        connections.delete(connection);
        if (connections.size === 0) byHostname.delete(hostname);
      });
      scheduleRound();
    },
    drop,
  };
}
