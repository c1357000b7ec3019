import { type Config, rolesOf } from '../config/config.ts';
import { BEAT_MS, countFleet, GONE_MS, seeFleet } from '../core/operations/fleet.ts';
import { SECOND, scaledMs } from '../core/time.ts';
import { createFleetStore } from '../db/fleet.ts';
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
