/** The processes of the installation, by the database's clock. */

import type { FleetProcess, SharedSettings } from '../core/operations/fleet.ts';
import type { PrismaClient } from './generated/client.ts';

export type NewProcess = Pick<
  FleetProcess,
  'id' | 'role' | 'host' | 'pid' | 'version' | 'settings'
>;

type FleetReport = {
  readonly isJoined: boolean;
  /** Whether its queue carries the installation's mark now. */
  readonly isQueueSeen: boolean;
  readonly resolversFailing: boolean;
  readonly problem: string | null;
};

export type FleetStore = {
  /** Removes records that are too old to matter. `isAlone`: all others. */
  register(process: NewProcess, isAlone: boolean): Promise<void>;
  /** Registers it again if its record was lost. */
  report(process: NewProcess, report: FleetReport): Promise<void>;
  /** Replaces earlier refusals of this role on this host, because supervisors restart a refused process. */
  refuse(process: NewProcess, problem: string): Promise<void>;
  /** Of this role on this host. */
  forgetRefused(process: NewProcess): Promise<void>;
  leave(id: string): Promise<void>;
  /** If no other process reported for `goneMs`: everything was stopped in between. */
  endAcceptance(id: string, goneMs: number): Promise<void>;
  /** Without processes that were refused over 15 minutes ago or last reported over an hour ago. */
  load(): Promise<{
    readonly now: Date;
    readonly processes: readonly FleetProcess[];
    /** Empty unless settings were accepted within `acceptedForMs`. */
    readonly accepted: SharedSettings;
  }>;
  /** The settings of a refused process; null if there is no such record. */
  accept(id: string): Promise<SharedSettings | null>;
};

export function createFleetStore(prisma: PrismaClient, acceptedForMs: number): FleetStore {
  const insert = ({ id, role, host, pid, version, settings }: NewProcess) =>
    prisma.$executeRaw`
      INSERT INTO fleet_process (id, role, host, pid, version, settings, started_at, seen_at)
      VALUES (${id}::uuid, ${role}, ${host}, ${pid}, ${version}, ${settings}, now(), now())
      ON CONFLICT (id) DO NOTHING`;
  const forgetRefused = async ({ role, host }: NewProcess) => {
    await prisma.$executeRaw`
      DELETE FROM fleet_process WHERE refused_at IS NOT NULL AND role = ${role} AND host = ${host}`;
  };
  return {
    async register(process, isAlone) {
      await prisma.$executeRaw`
        DELETE FROM fleet_process WHERE ${isAlone} OR seen_at < now() - interval '1 hour'`;
      await insert(process);
    },
    async report(process, { isJoined, isQueueSeen, resolversFailing, problem }) {
      const update = () => prisma.$executeRaw`
        UPDATE fleet_process SET seen_at = now(), problem = ${problem}, resolvers_failing = ${resolversFailing},
          joined_at = coalesce(joined_at, CASE WHEN ${isJoined} THEN now() END),
          queue_seen_at = CASE WHEN ${isQueueSeen} THEN now() ELSE queue_seen_at END
        WHERE id = ${process.id}::uuid`;
      if ((await update()) > 0) return;
      await insert(process);
      await update();
    },
    async refuse(process, problem) {
      await prisma.$executeRaw`
        DELETE FROM fleet_process WHERE refused_at IS NOT NULL
          AND role = ${process.role} AND host = ${process.host} AND problem = ${problem}`;
      await prisma.$executeRaw`
        UPDATE fleet_process SET refused_at = now(), problem = ${problem} WHERE id = ${process.id}::uuid`;
    },
    forgetRefused,
    async leave(id) {
      await prisma.$executeRaw`DELETE FROM fleet_process WHERE id = ${id}::uuid`;
    },
    async endAcceptance(id, goneMs) {
      await prisma.$executeRaw`
        DELETE FROM fleet_acceptance WHERE NOT EXISTS (SELECT 1 FROM fleet_process
          WHERE id <> ${id}::uuid AND refused_at IS NULL
            AND seen_at > now() - ${goneMs} * interval '1 millisecond')`;
    },
    load: () => load(prisma, acceptedForMs),
    async accept(id) {
      const [accepted] = await prisma.$queryRaw<{ settings: SharedSettings }[]>`
        INSERT INTO fleet_acceptance (id, settings, accepted_at)
          SELECT 1, settings, now() FROM fleet_process
          WHERE id = ${id}::uuid AND refused_at IS NOT NULL
        ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, accepted_at = now()
        RETURNING settings`;
      return accepted?.settings ?? null;
    },
  };
}

/** In one statement, so that its `now` fits the rows. */
async function load(prisma: PrismaClient, acceptedForMs: number) {
  const [row] = await prisma.$queryRaw<[{ now: Date; processes: Stored[]; accepted: unknown }]>`
    SELECT now() AS now,
      coalesce((SELECT json_agg(json_build_object('id', id, 'role', role, 'host', host, 'pid', pid,
        'version', version, 'settings', settings, 'startedAt', started_at, 'seenAt', seen_at, 'joinedAt', joined_at,
        'queueSeenAt', queue_seen_at, 'resolversFailing', resolvers_failing,
        'refusedAt', refused_at, 'problem', problem))
        FROM fleet_process WHERE seen_at > now() - interval '1 hour'
          AND (refused_at IS NULL OR refused_at > now() - interval '15 minutes')), '[]') AS processes,
      (SELECT settings FROM fleet_acceptance
        WHERE accepted_at > now() - ${acceptedForMs} * interval '1 millisecond') AS accepted`;
  return {
    now: row.now,
    processes: row.processes.map(processOf),
    accepted: (row.accepted ?? {}) as SharedSettings, // as `accept` stored them
  };
}

type TimeName = 'startedAt' | 'seenAt' | 'joinedAt' | 'queueSeenAt' | 'refusedAt';
type Stored = Omit<FleetProcess, TimeName> & {
  readonly startedAt: string;
  readonly seenAt: string;
  readonly joinedAt: string | null;
  readonly queueSeenAt: string | null;
  readonly refusedAt: string | null;
};

const timeOf = (text: string | null) => (text === null ? null : new Date(text));

function processOf(stored: Stored): FleetProcess {
  return {
    ...stored,
    startedAt: new Date(stored.startedAt),
    seenAt: new Date(stored.seenAt),
    joinedAt: timeOf(stored.joinedAt),
    queueSeenAt: timeOf(stored.queueSeenAt),
    refusedAt: timeOf(stored.refusedAt),
  };
}
