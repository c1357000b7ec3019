/** Tracks open connections by domain, so that a removal also closes them. */

import type { EdgeLog } from './edge-service.ts';
import type { EdgeLimits } from './limits.ts';
import type { Routes } from './routes/routes.ts';

/** A visitor's connection, or one response on a shared connection. */
export type VisitorConnection = {
  readonly destroyed: boolean;
  readonly destroy: () => unknown;
  readonly once: (event: 'close', act: () => void) => unknown;
};

/**
 * Rechecks the route of each open name every `recheckMs`, in case a notification was lost. Closes
 * connections of removed names, and of the previous project if a name moved. A failed lookup closes
 * nothing.
 */
export function createOpenConnections(
  routes: Pick<Routes, 'find'>,
  log: EdgeLog,
  { recheckMs }: Pick<EdgeLimits, 'recheckMs'>,
) {
  const byHostname = new Map<string, Set<VisitorConnection>>();
  const owners = new WeakMap<VisitorConnection, string>();
  let isRoundDue = false;

  function scheduleRound(): void {
    if (isRoundDue || byHostname.size === 0) return;
    isRoundDue = true;
    setTimeout(() => void round(), recheckMs).unref();
  }

  async function round(): Promise<void> {
    const faults: unknown[] = [];
    const recheck = async (hostname: string) => {
      const route = await routes.find(hostname);
      if (route === null) drop(hostname);
      else dropOthers(hostname, route.projectId);
    };
    await Promise.all(
      [...byHostname.keys()].map((name) => recheck(name).catch((err) => faults.push(err))),
    );
    // One line per round: thousands of names can be open when the database is down.
    if (faults.length > 0) {
      log.warn({ err: faults[0], count: faults.length }, 'open connections could not be rechecked');
    }
    isRoundDue = false;
    scheduleRound();
  }

  function drop(hostname: string): void {
    for (const connection of byHostname.get(hostname) ?? []) connection.destroy();
  }

  function dropOthers(hostname: string, projectId: string): void {
    for (const connection of byHostname.get(hostname) ?? []) {
      if ((owners.get(connection) ?? projectId) !== projectId) connection.destroy();
    }
  }

  return {
    /** Assigns it to the project whose deploy answers on it. The first project stays. */
    bindTo(connection: VisitorConnection, projectId: string): void {
      if (!owners.has(connection)) owners.set(connection, projectId);
    },
    /** Until it closes. A connection belongs to one name. */
    add(hostname: string, connection: VisitorConnection): void {
      // its `close` event may have fired already, and nothing else would remove it
      if (connection.destroyed) return;
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

export type OpenConnections = ReturnType<typeof createOpenConnections>;
