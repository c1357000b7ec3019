import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { MINUTE } from '../core/time.ts';
import type { Dependency, DependencyState, Readiness } from './readiness.ts';

/** Where a dependency is, for people: the variable, and the host without credentials. */
type Place = {
  readonly variable: string;
  readonly host: string;
  /** Of a URL: the database, or the index of a Redis. */
  readonly path: string;
};

export type OutageLog = { note(readiness: Pick<Readiness, 'dependencies'>): void };

type OngoingOutage = { readonly since: number; loggedAt: number };

/**
 * One line when a dependency stops answering, one a minute while it does not, and one when it
 * answers again. log.ts demotes what other parts log because of it.
 */
export function createOutageLog(
  log: Pick<Logger, 'warn' | 'info'>,
  storage: Config['storage'],
  now: () => number,
): OutageLog {
  const outages = new Map<Dependency, OngoingOutage>();

  function lost(dependency: Dependency): void {
    const at = now();
    const outage = outages.get(dependency);
    if (outage !== undefined && at - outage.loggedAt < MINUTE) return;
    const since = outage?.since ?? at;
    outages.set(dependency, { since, loggedAt: at });
    const about = { dependency, ...shownPlace(dependency), seconds: secondsSince(since) };
    log.warn(about, 'a dependency does not answer');
  }

  function back(dependency: Dependency): void {
    const outage = outages.get(dependency);
    if (outage === undefined) return;
    outages.delete(dependency);
    const seconds = secondsSince(outage.since);
    log.info({ dependency, ...shownPlace(dependency), seconds }, 'a dependency answers again');
  }

  function noteOne(dependency: Dependency, state: DependencyState | undefined): void {
    if (state === 'down') lost(dependency);
    if (state === 'up') back(dependency);
  }

  function shownPlace(dependency: Dependency) {
    const { variable, host } = placeOf(dependency, storage);
    return { variable, host };
  }

  const secondsSince = (at: number) => Math.round((now() - at) / 1_000);
  return {
    note({ dependencies: { database, queue } }) {
      noteOne('database', database);
      const isSamePlace = storage.kind !== 'postgres_redis' && database === 'down';
      if (!isSamePlace) noteOne('queue', queue);
    },
  };
}

/** On embedded storage and PostgreSQL, the queue is in the database. */
export function placeOf(dependency: Dependency, storage: Config['storage']): Place {
  if (storage.kind === 'embedded') return { variable: 'DATA_DIR', host: storage.dataDir, path: '' };
  if (dependency === 'queue' && storage.kind === 'postgres_redis') {
    return { variable: 'REDIS_URL', ...placeIn(storage.redisUrl) };
  }
  return { variable: 'DATABASE_URL', ...placeIn(storage.databaseUrl) };
}

/** Without user and password. */
function placeIn(url: string): Pick<Place, 'host' | 'path'> {
  const { host, pathname, searchParams } = new URL(url);
  return { host: searchParams.get('host') ?? host, path: pathname };
}
