import { type Config, rolesOf } from '../config/config.ts';
import { BEAT_MS, countFleet, GONE_MS, seeFleet } from '../core/operations/fleet.ts';
import { roleNames } from '../core/operations/roles.ts';
import { SECOND, scaledMs } from '../core/time.ts';
import { createFleetStore } from '../db/fleet.ts';
import { beforeDeadline } from '../net/deadline.ts';
import { createSingleFlight } from '../net/load-once.ts';
import {
  asThisMachine,
  configuredPorts,
  type Listeners,
  type OwnListeners,
} from '../net/own-addresses.ts';
import type { Opened } from './opened.ts';

type FleetParts = Pick<Opened, 'config' | 'database'>;
/** `processes`: newest first. */
export async function loadFleet(service: FleetParts) {
  const { config } = service;
  const { now, processes, current } = await fleetStore(service).load();
  const seen = seeFleet(processes, current, { now, goneMs: fleetTimes(config).goneMs });
  return { processes: seen, counts: countFleet(seen, rolesOf({ ...config, role: 'all' })) };
}

export function fleetStore({ config, database }: FleetParts) {
  return createFleetStore(database.prisma, fleetTimes(config).goneMs);
}

/** How often a process reports, and after how long without a report it counts as gone. */
export function fleetTimes({ timeScale }: Pick<Config, 'timeScale'>) {
  return {
    beatMs: scaledMs(BEAT_MS, timeScale, SECOND),
    goneMs: scaledMs(GONE_MS, timeScale, SECOND * (GONE_MS / BEAT_MS)),
  };
}

/** A process that starts elsewhere is known after so long. */
const LISTENERS_FRESH_MS = 30 * SECOND;
const FIRST_LISTENERS_MS = 2 * SECOND;

/**
 * Of every process that reported within the last hour: at its host name as resolved here, with the
 * ports of this process's configuration. Only the first call waits; later ones get the last result
 * while the list is read again, or while the database is away.
 */
export function fleetListeners(service: FleetParts & Pick<Opened, 'now'>): OwnListeners {
  const store = fleetStore(service);
  const share = createSingleFlight<void>();
  let known: readonly Listeners[] | null = null;
  let staleAt = 0;

  async function refresh(): Promise<void> {
    staleAt = service.now().getTime() + LISTENERS_FRESH_MS;
    const { processes } = await store.load();
    const listeners: Listeners[] = [];
    // One at a time: a look-up that hangs occupies one of the process's four shared threads.
    for (const { host, role } of processes) {
      const { inside, edge } = configuredPorts(service.config, role === 'all' ? roleNames : [role]);
      const addresses = await asThisMachine(host);
      listeners.push({ addresses, ports: inside, edgePorts: edge });
    }
    known = listeners;
  }

  return async () => {
    if (service.now().getTime() >= staleAt) {
      const refreshed = share('fleet', refresh).catch(() => {});
      if (known === null) await beforeDeadline(FIRST_LISTENERS_MS, refreshed, undefined);
    }
    return known ?? [];
  };
}
