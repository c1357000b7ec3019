/** Registers this process, compares what all processes share, and reports while this one runs. */
import { createHmac, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Config, rolesOf } from '../config/config.ts';
import { buildVersion } from '../config/root-folder.ts';
import { NOT_SET, queueState, type SharedSettings } from '../core/operations/fleet.ts';
import { SECOND } from '../core/time.ts';
import { isUnavailable } from '../db/engine/unavailable.ts';
import type { FleetStore, NewProcess, Registration } from '../db/fleet.ts';
import { createSingleFlight } from '../net/load-once.ts';
import { placeOf } from '../ops/outages.ts';
import { fleetStore, fleetTimes } from '../service/fleet.ts';
import type { Service } from '../service/service.ts';

type FleetParts = Pick<Service, 'config' | 'database' | 'backend' | 'secrets' | 'log' | 'metrics'>;

/**
 * Rejects with the variable, both values and the repair if the process must not start. A worker also waits for its
 * Redis; other roles check it later. The returned function ends the reports and removes the process from the list.
 */
export async function joinFleet(service: FleetParts): Promise<() => Promise<void>> {
  const { config, log, metrics, secrets } = service;
  const store = fleetStore(service);
  const self = describeProcess(config, installationOf(secrets.target));
  await register(store, self, service);
  const check = createQueueCheck(service, store, self);
  let last: string | null = null;
  const report = async () => {
    const seen = await check();
    const wrong = problemOf(seen, self);
    if (wrong !== null && last === null) {
      log.error({ problem: wrong }, 'the configuration differs from other processes');
    }
    last = wrong;
    const resolversFailing = metrics?.areResolversFailing() ?? false;
    await store.report(self, {
      isQueueSeen: seen === 'ours',
      resolversFailing,
      problem: wrong,
    });
  };
  const endReports = keepReporting(report, service);
  const leave = async () => {
    await endReports();
    await store.leave(self.id).catch((err: unknown) => log.debug({ err }, UNREACHED));
  };
  const refused = await untilQueueIsKnown(service, check, self).catch(async (fault: unknown) => {
    await leave();
    throw fault;
  });
  if (refused === null) return leave;
  await endReports();
  await store.refuse(self, refused);
  throw new Error(refused);
}

const UNREACHED = 'the list of processes was not reached';

/** Waits while the processes that differ can have crashed, and while the database is away. */
async function register(
  store: FleetStore,
  self: NewProcess,
  { config, log }: FleetParts,
): Promise<void> {
  // Embedded storage belongs to one process.
  const isAlone = config.storage.kind === 'embedded';
  let since: Date | null = null;
  for (;;) {
    const tried: Registration | null = await store
      .register(self, isAlone, since)
      .catch((fault: unknown) => {
        if (isAlone || !isUnavailable(fault)) throw fault;
        return null;
      });
    if (tried !== null) {
      if (tried.problem === null) return;
      if (tried.isConfirmed) throw new Error(tried.problem);
      if (since === null) log.info('waiting for a report of the processes that started earlier');
      since ??= tried.at;
    }
    await wait(SECOND / 2);
  }
}

/** `silent`: Redis does not answer. */
type QueueSeen = 'none' | 'silent' | 'ours' | 'waits' | 'other' | 'foreign';

type QueueParts = Pick<FleetParts, 'backend' | 'secrets'> & {
  readonly store: FleetStore;
  readonly self: NewProcess;
  /** The ID that the mark had when this process found it. */
  knownId: string | null;
};

/** Looks for the installation's mark in the Redis of this process, and sets it where it belongs. */
function createQueueCheck(
  { backend, config, secrets }: FleetParts,
  store: FleetStore,
  self: NewProcess,
): () => Promise<QueueSeen> {
  const parts: QueueParts = { backend, secrets, store, self, knownId: null };
  const hasQueue = (self.settings['REDIS_URL'] ?? NOT_SET) !== NOT_SET;
  const { goneMs } = fleetTimes(config);
  const share = createSingleFlight<QueueSeen>();
  /** Another process restores the mark of an emptied Redis with its next report; else this is another one. */
  let waitingSince: number | null = null;
  return async () => {
    if (!hasQueue) return 'none';
    const seen = await share('queue', () => findQueue(parts));
    waitingSince = seen === 'waits' ? (waitingSince ?? performance.now()) : null;
    const isLost = waitingSince !== null && performance.now() - waitingSince > goneMs;
    return isLost ? 'other' : seen;
  };
}

async function findQueue(parts: QueueParts): Promise<QueueSeen> {
  const { backend, secrets, store, self, knownId } = parts;
  const mark = await backend.readMark();
  if (mark === undefined) return 'silent';
  const installation = installationOf(secrets.target);
  const { queueId, isUsed } = await store.queue(self.id);
  const state = queueState({ mark, installation, queueId, knownId, isUsed });
  if (state === 'ours') parts.knownId = queueId;
  if (state === 'emptied' && queueId !== null) return setMark(parts, queueId);
  if (state === 'free') {
    const nextId = randomUUID();
    if (await store.claimQueue(self.id, queueId, nextId)) return setMark(parts, nextId);
  }
  return state === 'free' || state === 'emptied' ? 'waits' : state;
}

/** A Redis that refuses writes is as good as silent. */
function setMark(parts: QueueParts, queueId: string): Promise<QueueSeen> {
  parts.knownId = queueId;
  return parts.backend.writeMark(`${installationOf(parts.secrets.target)} ${queueId}`).then(
    () => 'ours',
    () => 'silent',
  );
}

/** Another queue cannot be accepted, because jobs would be split. */
function problemOf(seen: QueueSeen, { settings }: NewProcess): string | null {
  const what = `REDIS_URL ${settings['REDIS_URL']}`;
  if (seen === 'other') {
    return `${what} is another Redis than the installation uses. Set the same value. To move to another Redis, stop every process first.`;
  }
  if (seen !== 'foreign') return null;
  return `${what} holds the queue of another installation. Use another Redis or database index. If that installation is gone: redis-cli DEL signpost:installation.`;
}

/** Why the process must not start, or null. A worker needs its queue; other roles check it later. */
async function untilQueueIsKnown(
  { config, log }: FleetParts,
  check: () => Promise<QueueSeen>,
  self: NewProcess,
): Promise<string | null> {
  const needsQueue = rolesOf(config).every((role) => role === 'worker');
  for (;;) {
    const seen = await check().catch((fault: unknown): QueueSeen => {
      if (isUnavailable(fault)) return 'silent';
      throw fault;
    });
    const problem = problemOf(seen, self);
    if (problem !== null || seen === 'ours' || seen === 'none') return problem;
    if (seen === 'silent' && !needsQueue) return null;
    log.debug({ queue: seen }, 'waiting for the queue');
    await wait(SECOND / 2);
  }
}

/** At once, and then regularly. The returned function ends it. */
function keepReporting(
  report: () => Promise<void>,
  { config, log }: FleetParts,
): () => Promise<void> {
  /** One at a time: a silent database must not leave a backlog. */
  let reporting: Promise<void> | null = null;
  const beat = () => {
    reporting ??= report()
      .catch((err: unknown) => log.debug({ err }, UNREACHED))
      .finally(() => {
        reporting = null;
      });
  };
  beat();
  const timer = setInterval(beat, fleetTimes(config).beatMs).unref();
  return async () => {
    clearInterval(timer);
    await reporting;
  };
}

function describeProcess(config: Config, installation: string): NewProcess {
  const { role, shared, storage } = config;
  const settings: SharedSettings = {
    ...shared,
    ...(role !== 'edge' && {
      REDIS_URL: storage.kind === 'postgres_redis' ? redisPlace(storage) : NOT_SET,
    }),
    KEY_ENCRYPTION_KEY: `targets ${installation}`,
  };
  const [host, version] = [hostname(), buildVersion()];
  return { id: randomUUID(), role, host, pid: process.pid, version, settings };
}

/** Without credentials: `cache:6379/0`. */
function redisPlace(storage: Extract<Config['storage'], { kind: 'postgres_redis' }>): string {
  const index = new URL(storage.redisUrl).pathname.slice(1) || '0';
  return `${placeOf('queue', storage).host}/${index}`;
}

/** The same in every process; reveals nothing about the secret. */
function installationOf(targetSecret: Uint8Array): string {
  return createHmac('sha256', targetSecret)
    .update('signpost installation')
    .digest('hex')
    .slice(0, 16);
}
