import type { Role } from '../core/operations/roles.ts';
import type { Database } from '../db/engine/client.ts';
import { unappliedMigrations } from '../db/engine/migrate.ts';
import { answersInTime } from '../net/deadline.ts';
import type { QueueBackend } from '../queue/backend.ts';

/** `migrations`: whether the schema is up to date. */
export const dependencyNames = ['database', 'migrations', 'queue'] as const;
export type Dependency = (typeof dependencyNames)[number];
/** `unknown`: could not be checked, because the database does not answer or is not open yet. */
export const dependencyStates = ['up', 'down', 'unknown'] as const;
export type DependencyState = (typeof dependencyStates)[number];

export type Readiness = {
  /** `degraded`: part of the work waits for what is missing. */
  readonly status: 'ready' | 'degraded' | 'starting' | 'not_ready';
  readonly dependencies: { readonly [D in Dependency]?: DependencyState };
  /** Can be empty while `starting`. */
  readonly missing: readonly Dependency[];
};

/** Whether /readyz is 200. */
export function isReady(status: Readiness['status']): boolean {
  return status === 'ready' || status === 'degraded';
}

/** Checks the dependencies on every call. Never rejects. */
export type ReadReadiness = () => Promise<Readiness>;

/** Filled while the process starts. Null: not opened yet. */
export type OpenedSoFar = {
  /** Every role is running, and API_KEY or the first key is accepted. */
  isStarted: boolean;
  database: Pick<Database, 'probe' | 'pool'> | null;
  backend: Pick<QueueBackend, 'probe'> | null;
};

/** With a timeout. `starting` until `isStarted`, unless `not_ready`. Never rejects. */
export async function readReadiness(
  roles: readonly Role[],
  { isStarted, database, backend }: Readonly<OpenedSoFar>,
): Promise<Readiness> {
  const [isUp, queue] = await Promise.all([probe(database), probe(backend)]);
  const migrations = isUp === 'up' ? await readMigrations(database) : 'unknown';
  const readiness = decideReadiness(roles, { database: isUp, migrations, queue });
  return isStarted || readiness.status === 'not_ready'
    ? readiness
    : { ...readiness, status: 'starting' };
}

async function probe(asked: OpenedSoFar['database' | 'backend']): Promise<DependencyState> {
  if (asked === null) return 'unknown';
  return (await asked.probe()) ? 'up' : 'down';
}

async function readMigrations(database: OpenedSoFar['database']): Promise<DependencyState> {
  if (database === null) return 'unknown';
  let isUpToDate = false;
  const asking = unappliedMigrations(database.pool).then((unapplied) => {
    isUpToDate = unapplied.length === 0;
  });
  if (!(await answersInTime(asking))) return 'unknown';
  return isUpToDate ? 'up' : 'down';
}

/** The API stores work that the reconciler queues later; only a pure worker needs the queue. */
export function decideReadiness(
  roles: readonly Role[],
  { queue, ...needed }: { readonly [D in Dependency]: DependencyState },
): Readiness {
  const asksQueue = roles.includes('api') || roles.includes('worker');
  const dependencies: Readiness['dependencies'] = asksQueue ? { ...needed, queue } : needed;
  const missing = dependencyNames.filter((name) => (dependencies[name] ?? 'up') !== 'up');
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
