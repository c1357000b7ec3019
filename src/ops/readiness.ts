/** Whether a process can do its work at this moment, dependency by dependency. */
import type { Database } from '../db/engine/client.ts';
import { unappliedMigrations } from '../db/engine/migrate.ts';
import { answersInTime } from '../net/answers-in-time.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Role } from './metrics/process.ts';

/** What a process may depend on. `migrations`: whether the schema is up to date. */
export type Dependency = 'database' | 'migrations' | 'queue';
/** `unknown`: could not be asked, because the database does not answer or is not opened yet. */
export type DependencyState = 'up' | 'down' | 'unknown';

/** What a process can do now. */
export type Readiness = {
  /** `degraded`: it does part of its work; what is missing says what waits. */
  readonly status: 'ready' | 'degraded' | 'starting' | 'not_ready';
  /** Those that the process's roles need, wholly or in part. */
  readonly dependencies: { readonly [D in Dependency]?: DependencyState };
  /** Those that are not up; a process that is `starting` may miss none. */
  readonly missing: readonly Dependency[];
};

/** Asks the dependencies each time. Never rejects. */
export type ReadReadiness = () => Promise<Readiness>;

/** Null: the process has not opened it yet. */
type Asked = {
  /** Every role is at work, and API_KEY or the first key is accepted. */
  readonly isStarted: boolean;
  readonly database: Pick<Database, 'probe' | 'pool'> | null;
  readonly backend: Pick<QueueBackend, 'probe'> | null;
};

/**
 * Asks what is opened whether it answers, each for a bounded time. `starting` until `isStarted`, unless it is
 * `not_ready`. Never rejects.
 */
export async function readReadiness(
  roles: readonly Role[],
  { isStarted, database, backend }: Asked,
): Promise<Readiness> {
  const [isUp, queue] = await Promise.all([probe(database), probe(backend)]);
  const migrations = isUp === 'up' ? await readMigrations(database) : 'unknown';
  const readiness = decideReadiness(roles, { database: isUp, migrations, queue });
  return isStarted || readiness.status === 'not_ready'
    ? readiness
    : { ...readiness, status: 'starting' };
}

async function probe(asked: Asked['database' | 'backend']): Promise<DependencyState> {
  if (asked === null) return 'unknown';
  return (await asked.probe()) ? 'up' : 'down';
}

async function readMigrations(database: Asked['database']): Promise<DependencyState> {
  if (database === null) return 'unknown';
  let isUpToDate = false;
  const asking = unappliedMigrations(database.pool).then((unapplied) => {
    isUpToDate = unapplied.length === 0;
  });
  if (!(await answersInTime(asking))) return 'unknown';
  return isUpToDate ? 'up' : 'down';
}

/**
 * Pure. Nobody works without the database as it should be. The edge never asks the queue; the API stores what the
 * reconciler hands to it later; a process that only works has nothing else to do.
 */
export function decideReadiness(
  roles: readonly Role[],
  { queue, ...needed }: { readonly [D in Dependency]: DependencyState },
): Readiness {
  const asksQueue = roles.includes('api') || roles.includes('worker');
  const dependencies: Readiness['dependencies'] = asksQueue ? { ...needed, queue } : needed;
  const names = ['database', 'migrations', 'queue'] as const;
  const missing = names.filter((name) => (dependencies[name] ?? 'up') !== 'up');
  return { status: statusOf(roles, missing), dependencies, missing };
}

function statusOf(
  roles: readonly Role[],
  missing: readonly Dependency[],
): 'ready' | 'degraded' | 'not_ready' {
  if (missing.length === 0) return 'ready';
  const onlyQueue = missing.every((name) => name === 'queue');
  return onlyQueue && roles.includes('api') ? 'degraded' : 'not_ready';
}
