/** Which connections are open for which domain, so that a removal also ends what is under way on them. */
import type { EdgeDeps, EdgeLimits } from './deps.ts';

/** What is cut off when its name goes: a visitor's connection, or one answer where connections are shared. */
export type Connection = {
  readonly destroyed: boolean;
  readonly destroy: () => unknown;
  readonly once: (event: 'close', act: () => void) => unknown;
};

/** What is open, by the name that it is open for. */
export type OpenConnections = {
  /** Watches a connection, idle or not, until it closes. It speaks for this one name only. */
  readonly add: (hostname: string, connection: Connection) => void;
  /** Whose deploy is asked on a connection from now on. It stays with the first project. */
  readonly bindTo: (connection: Connection, projectId: string) => void;
  /** Destroys the connections that are open for a name. */
  readonly drop: (hostname: string) => void;
};

/**
 * While connections are open, asks for the route of each of their names again, `recheckMs` after the last round, and
 * drops a name without one: its domain may have been removed, and the edge not been told. Where the name is another
 * project's now, it drops what belongs to the one before. Most answers come from memory; for the others the look-ups of a
 * round go to the database together. One that fails drops nothing.
 */
export function createOpenConnections(
  { findRoute, log }: Pick<EdgeDeps, 'findRoute' | 'log'>,
  { recheckMs }: Pick<EdgeLimits, 'recheckMs'>,
): OpenConnections {
  const byHostname = new Map<string, Set<Connection>>();
  const owners = new WeakMap<Connection, string>();
  let isRoundDue = false;

  function scheduleRound(): void {
    if (isRoundDue || byHostname.size === 0) return;
    isRoundDue = true;
    setTimeout(() => void round(), recheckMs).unref();
  }

  async function round(): Promise<void> {
    const faults: unknown[] = [];
    const recheck = async (hostname: string) => {
      const route = await findRoute(hostname);
      if (route === null) drop(hostname);
      else dropOthers(hostname, route.projectId);
    };
    await Promise.all(
      [...byHostname.keys()].map((name) => recheck(name).catch((err) => faults.push(err))),
    );
    // One line a round: without its database the edge may have thousands of names open.
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
    bindTo(connection, projectId) {
      if (!owners.has(connection)) owners.set(connection, projectId);
    },
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
