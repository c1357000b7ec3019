/** The processes of the installation and what they share, by the database's clock. */
import {
  differences,
  type FleetProcess,
  refusalWords,
  type SharedSettings,
} from '../core/operations/fleet.ts';
import type { Tx } from './engine/transaction.ts';
import type { PrismaClient } from './generated/client.ts';

export type NewProcess = Pick<
  FleetProcess,
  'id' | 'role' | 'host' | 'pid' | 'version' | 'settings'
>;
type ProcessReport = Pick<FleetProcess, 'resolversFailing' | 'problem'> & {
  /** Its Redis has the installation's mark now. */
  readonly isQueueSeen: boolean;
};

export type FleetStore = ReturnType<typeof createFleetStore>;

/** `goneMs`: without a report for so long, a process counts no more. */
export function createFleetStore(prisma: PrismaClient, goneMs: number) {
  return {
    /** `isAlone`: all other records are old. `since`: the time of the first try. */
    register: (process: NewProcess, isAlone: boolean, since: Date | null) =>
      prisma.$transaction((tx) => register(tx, process, { isAlone, since, goneMs })),
    /** Registers it again if its record was lost. */
    async report(process: NewProcess, { isQueueSeen, resolversFailing, problem }: ProcessReport) {
      const update = () => prisma.$executeRaw`
        UPDATE fleet_process SET seen_at = now(), problem = ${problem}, resolvers_failing = ${resolversFailing},
          queue_seen_at = CASE WHEN ${isQueueSeen} THEN now() ELSE queue_seen_at END
        WHERE id = ${process.id}::uuid`;
      if ((await update()) > 0) return;
      await insert(prisma, process, null);
      await update();
    },
    async refuse({ id }: NewProcess, problem: string): Promise<void> {
      await prisma.fleetProcess.updateMany({ where: { id }, data: { isRefused: true, problem } });
    },
    async leave(id: string): Promise<void> {
      await prisma.fleetProcess.deleteMany({ where: { id } });
    },
    /** The ID that the installation's Redis carries, and whether another process sees it there. */
    async queue(id: string) {
      const stored = await prisma.sharedSettings.findUnique({ where });
      const isUsed = (await running(prisma, goneMs)).some((one) => one.id !== id && one.queueSeen);
      return { queueId: stored?.queueId ?? null, isUsed };
    },
    /** False if another process was faster. */
    async claimQueue(known: string | null, queueId: string): Promise<boolean> {
      const claimed = { where: { ...where, queueId: known }, data: { queueId } };
      return (await prisma.sharedSettings.updateMany(claimed)).count > 0;
    },
    /** Without processes that last reported over an hour ago, or were refused over 15 minutes ago. */
    async load() {
      const [{ now }] = await prisma.$queryRaw<[{ now: Date }]>`SELECT now()`;
      const since = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
      const rows = await prisma.fleetProcess.findMany({
        where: { seenAt: { gt: since(60) }, NOT: { isRefused: true, seenAt: { lt: since(15) } } },
      });
      const stored = await prisma.sharedSettings.findUnique({ where });
      // Both are only written from these types.
      const processes = rows as unknown as readonly FleetProcess[];
      return { now, processes, current: settingsIn(stored?.settings) };
    },
    /** The settings of a refused process become the installation's. False if there is no such process. */
    async accept(id: string): Promise<boolean> {
      const changed = await prisma.$executeRaw`
        UPDATE shared_settings SET settings = shared_settings.settings || refused.settings
        FROM fleet_process refused WHERE refused.id = ${id}::uuid AND refused.is_refused`;
      return changed > 0;
    },
  };
}

const where = { id: 1 };

type Registration = {
  /** Null: it can start, and its settings are the installation's. */
  readonly problem: string | null;
  /** Whether the others still run: one has reported since the first try. Then the problem is stored, too. */
  readonly isConfirmed: boolean;
  readonly at: Date;
};

async function register(
  tx: Tx,
  process: NewProcess,
  given: { readonly isAlone: boolean; readonly since: Date | null; readonly goneMs: number },
): Promise<Registration> {
  const { isAlone, since, goneMs } = given;
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('fleet'))`;
  // A refusal is replaced by the next one of this role on this host: supervisors restart a refused process.
  await tx.$executeRaw`
    DELETE FROM fleet_process WHERE ${isAlone} OR seen_at < now() - interval '1 hour'
      OR (is_refused AND role = ${process.role} AND host = ${process.host})`;
  const [{ at }] = await tx.$queryRaw<[{ at: Date }]>`SELECT now() AS at`;
  const others = await running(tx, goneMs);
  const stored = await tx.sharedSettings.findUnique({ where });
  const current = others.length === 0 ? {} : settingsIn(stored?.settings);
  const differing = differences(process.settings, current);
  if (differing.length > 0) {
    const problem = refusalWords(differing);
    const isConfirmed = since !== null && others.some(({ seenAt }) => seenAt > since);
    if (isConfirmed) await insert(tx, process, problem);
    return { problem, isConfirmed, at };
  }
  await insert(tx, process, null);
  const settings = { ...current, ...process.settings };
  await tx.sharedSettings.upsert({ where, create: { settings }, update: { settings } });
  return { problem: null, isConfirmed: true, at };
}

function insert(tx: Tx, process: NewProcess, problem: string | null) {
  const { id, role, host, pid, version, settings } = process;
  return tx.$executeRaw`
    INSERT INTO fleet_process (id, role, host, pid, version, settings, started_at, seen_at, is_refused, problem)
    VALUES (${id}::uuid, ${role}, ${host}, ${pid}, ${version}, ${settings}, now(), now(), ${problem !== null}, ${problem})
    ON CONFLICT (id) DO NOTHING`;
}

function running(tx: Tx, goneMs: number) {
  return tx.$queryRaw<{ id: string; seenAt: Date; queueSeen: boolean }[]>`
    SELECT id, seen_at AS "seenAt",
      coalesce(queue_seen_at > now() - ${goneMs} * interval '1 millisecond', false) AS "queueSeen"
    FROM fleet_process
    WHERE NOT is_refused AND seen_at > now() - ${goneMs} * interval '1 millisecond'`;
}

function settingsIn(stored: unknown): SharedSettings {
  return (stored ?? {}) as SharedSettings; // only written from it
}
