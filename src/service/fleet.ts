/** The processes of the installation, as they report themselves (src/process/join-fleet.ts). */
import type { Config } from '../config/config.ts';
import { rolesOf } from '../config/roles.ts';
import {
  ACCEPTED_FOR_MS,
  BEAT_MS,
  countFleet,
  type FleetCounts,
  GONE_MS,
  type SeenProcess,
  seeFleet,
} from '../core/operations/fleet.ts';
import { SECOND, scaledMs } from '../core/time.ts';
import { createFleetStore, type FleetStore } from '../db/fleet.ts';
import type { Opened } from './opened.ts';

type FleetParts = Pick<Opened, 'config' | 'database'>;

export type SeenFleet = {
  /** Newest first. */
  readonly processes: readonly SeenProcess[];
  readonly counts: FleetCounts;
};

export async function loadFleet(service: FleetParts): Promise<SeenFleet> {
  const { config } = service;
  const { now, processes } = await fleetStore(service).load();
  const seen = seeFleet(processes, now, fleetTimes(config).goneMs);
  return { processes: seen, counts: countFleet(seen, rolesOf({ ...config, role: 'all' })) };
}

/** `accept` answers null if no process with this ID was refused. */
export function fleetStore({ config, database }: FleetParts): FleetStore {
  return createFleetStore(database.prisma, scaledMs(ACCEPTED_FOR_MS, config.timeScale));
}

/** How often a process reports, and after how long without a report it counts as gone. */
export function fleetTimes({ timeScale }: Pick<Config, 'timeScale'>) {
  return {
    beatMs: scaledMs(BEAT_MS, timeScale, SECOND),
    goneMs: scaledMs(GONE_MS, timeScale, SECOND * (GONE_MS / BEAT_MS)),
  };
}
