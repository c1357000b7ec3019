/** The processes of the installation and what they share, by the database's clock. */
import {
  differences,
  type FleetProcess,
  isAcceptable,
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

/** `goneMs`: without a report for so long, a process is gone. */
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
    /** The ID that the installation's Redis carries, and whether another process uses it. */
    queue: (id: string) => queueOf(prisma, id, goneMs),
    /** Gives the queue an ID. False if another process was faster, or uses the known one by now. */
    claimQueue: (id: string, known: string | null, queueId: string): Promise<boolean> =>
      prisma.$transaction(async (tx) => {
        await lock(tx);
        const now = await queueOf(tx, id, goneMs);
        if (now.isUsed || now.queueId !== known) return false;
        await tx.sharedSettings.updateMany({ where, data: { queueId } });
        await tx.$executeRaw`UPDATE fleet_process SET queue_seen_at = now() WHERE id = ${id}::uuid`;
        return true;
      }),
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
    /** The settings of a refused process become the installation's. Idempotent. False if only its Redis differs. */
    accept: (id: string): Promise<boolean> => prisma.$transaction((tx) => accept(tx, id)),
  };
}

const where = { id: 1 };

export type Registration = {
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
  await lock(tx);
  // A refusal is replaced by the next one of this role on this host: supervisors restart a refused process.
  await tx.$executeRaw`
    DELETE FROM fleet_process WHERE ${isAlone} OR seen_at < now() - interval '1 hour'
      OR (is_refused AND role = ${process.role} AND host = ${process.host})`;
  const [{ at }] = await tx.$queryRaw<[{ at: Date }]>`SELECT now() AS at`;
  const rows = await tx.fleetProcess.findMany({ where: { isRefused: false } });
  // After an outage of the database, processes have not reported for a while, and still run.
  const others = rows.filter(
    ({ seenAt }) => at.getTime() - Math.max(Number(seenAt), Number(since ?? at)) < goneMs,
  );
  const stored = settingsIn((await tx.sharedSettings.findUnique({ where }))?.settings);
  // Only what a process uses binds others.
  const used = new Set(others.flatMap(({ settings }) => Object.keys(settingsIn(settings))));
  const current = Object.fromEntries(Object.entries(stored).filter(([name]) => used.has(name)));
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

async function accept(tx: Tx, id: string): Promise<boolean> {
  await lock(tx); // a process that starts now would write the previous values
  const refused = await tx.fleetProcess.findFirst({ where: { id, isRefused: true } });
  if (refused === null || refused.problem?.startsWith('REDIS_URL ')) return false;
  const stored = await tx.sharedSettings.findUnique({ where });
  const [wanted, current] = [settingsIn(refused.settings), settingsIn(stored?.settings)];
  const accepted = differences(wanted, current).filter(isAcceptable);
  const values = Object.fromEntries(accepted.map(({ name, value }) => [name, value]));
  await tx.sharedSettings.update({ where, data: { settings: { ...current, ...values } } });
  return true;
}

function lock(tx: Tx) {
  return tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('fleet'))`;
}

async function queueOf(tx: Tx, id: string, goneMs: number) {
  const stored = await tx.sharedSettings.findUnique({ where });
  const [{ others }] = await tx.$queryRaw<[{ others: bigint }]>`
    SELECT count(*) AS others FROM fleet_process
    WHERE id <> ${id}::uuid AND NOT is_refused AND problem IS NULL AND queue_seen_at IS NOT NULL
      AND seen_at > now() - ${goneMs} * interval '1 millisecond'`;
  return { queueId: stored?.queueId ?? null, isUsed: others > 0n };
}

function insert(tx: Tx, process: NewProcess, problem: string | null) {
  const { id, role, host, pid, version, settings } = process;
  return tx.$executeRaw`
    INSERT INTO fleet_process (id, role, host, pid, version, settings, started_at, seen_at, is_refused, problem)
    VALUES (${id}::uuid, ${role}, ${host}, ${pid}, ${version}, ${settings}, now(), now(), ${problem !== null}, ${problem})
    ON CONFLICT (id) DO NOTHING`;
}

function settingsIn(stored: unknown): SharedSettings {
  return (stored ?? {}) as SharedSettings; // only written from it
}
