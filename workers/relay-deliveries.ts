/**
 * Moves due deliveries to the queue, a few of each webhook at a time and in turns of accounts: the
 * backlog of a slow receiver delays no other. Runs on a timer in every worker process. Rows are marked
 * before their jobs are added, since a job could finish before a later mark; marked rows whose jobs
 * are lost are queued again. Once a minute it also deletes what ended or happened long ago.
 */
import { DELIVERIES_KEPT_MS } from '../src/core/operations/webhook-plan.ts';
import { PROJECT_ERASED_MS } from '../src/core/records.ts';
import { DAY, MINUTE, SECOND, scaledMs } from '../src/core/time.ts';
import { AUDIT_KEPT_MS } from '../src/db/audit.ts';
import type { QueuedDelivery } from '../src/db/delivery/delivery-times.ts';
import { eraseProjects, pruneEvents, pruneMetadata } from '../src/db/events.ts';
import type { Service } from '../src/service/service.ts';
import { deliveriesInFlight } from './deliver-webhook.ts';

/** Much longer than the time after which another worker takes over a dead worker's job. */
const [LOST_AFTER_MS, LOST_AFTER_MS_MIN] = [2 * MINUTE, 5 * SECOND];
/** Per command to the queue. */
const BATCH = 500;
/** A fast receiver gets its next deliveries without waiting for the timer. */
const ROUNDS = 5;
const ROUND_MS = 90;
/**
 * PostgreSQL deletes 80,000 rows a second on 2 cores, so one run per minute keeps up with 1,300
 * attempts a second. Replays add rows no faster than workers process them.
 */
const PRUNE_EVERY_MS = MINUTE;
const PRUNED_AT_ONCE = 5_000;
/** Each of deliveries and of events; it queues no delivery during that time. */
const PRUNING_MS = SECOND;
/** How often within `lostAfterMs` it looks for lost jobs and disabled webhooks. */
const TEND_SHARE = 6;

/**
 * One per process, called twice a second; resolves with the number of queued deliveries. After
 * `stop` is aborted it starts no further round. Rejects if the database or the queue is down; what
 * was not queued stays due.
 */
export function createRelay(service: Service): (stop?: AbortSignal) => Promise<number> {
  const prune = createPruning(service);
  let tendAt = 0;
  return async (stop = new AbortController().signal) => {
    const now = service.now().getTime();
    let relayed = 0;
    if (now >= tendAt) {
      tendAt = now + lostAfterMs(service) / TEND_SHARE;
      relayed += await tend(service, stop);
      await prune(stop);
    }
    for (let round = 0; round < ROUNDS && !stop.aborted; round += 1) {
      const at = service.now();
      const count = await give(
        service,
        at,
        await service.deliveries.giveDue(at, deliveriesInFlight.host, BATCH),
      );
      relayed += count;
      if (count === 0) break;
      if (round < ROUNDS - 1) await service.pause(ROUND_MS);
    }
    return relayed;
  };
}

/** A job without progress for this long is lost, and queued again. */
function lostAfterMs({ config }: Service): number {
  return scaledMs(LOST_AFTER_MS, config.timeScale, LOST_AFTER_MS_MIN);
}

/** Adds the missing jobs, due at `at`. */
function enqueue({ queues }: Service, given: readonly QueuedDelivery[], at: Date): Promise<void> {
  const jobs = given.map(({ id, projectId }) => {
    return { job: { deliveryId: id }, runAt: at, projectId: projectId ?? undefined };
  });
  return queues.enqueue('deliver-webhook', jobs);
}

async function give(service: Service, at: Date, given: readonly QueuedDelivery[]): Promise<number> {
  if (given.length === 0) return 0;
  try {
    await enqueue(service, given, at);
  } catch (fault) {
    const ids = given.map(({ id }) => id);
    await service.deliveries.takeBack(ids, at);
    throw fault;
  }
  return given.length;
}

async function tend(service: Service, stop: AbortSignal): Promise<number> {
  const at = service.now();
  const lost = await service.deliveries.giveAgain(
    new Date(at.getTime() - lostAfterMs(service)),
    at,
    BATCH,
  );
  const given = await give(service, at, lost);
  if (stop.aborted) return given;
  await service.deliveries.endOfOff();
  return given;
}

/**
 * Deliveries first, because they keep their events. Once a day, each process erases deleted projects, and
 * then walks through all metadata and all events, some in each turn.
 */
function createPruning(service: Service): (stop: AbortSignal) => Promise<void> {
  const { prisma } = service.database;
  const { eventRetentionMs, timeScale } = service.config;
  const limit = PRUNED_AT_ONCE;
  const ago = (at: number, ms: number) => new Date(at - ms);
  const walks = [
    async (after: bigint, at: number) =>
      (await eraseProjects(prisma, ago(at, PROJECT_ERASED_MS), limit)) ? null : after,
    (after: bigint) => pruneMetadata(prisma, { after, limit }),
    (after: bigint, at: number) => pruneEvents(prisma, { after, limit }, ago(at, eventRetentionMs)),
  ];
  let [walk, after, restsUntil] = [0, 0n, 0];
  async function walkOn(at: number): Promise<void> {
    const last = (await walks[walk]?.(after, at)) ?? null;
    after = last ?? 0n;
    if (last !== null) return;
    walk = (walk + 1) % walks.length;
    if (walk === 0) restsUntil = at + scaledMs(DAY, timeScale);
  }
  return async (stop) => {
    if (stop.aborted || !(await service.waiting.takeTurn('prune-deliveries', PRUNE_EVERY_MS)))
      return;
    await pruneDeliveries(service, stop);
    const began = service.now().getTime();
    while (began >= restsUntil && !stop.aborted && service.now().getTime() - began <= PRUNING_MS)
      await walkOn(began);
  };
}

async function pruneDeliveries(service: Service, stop: AbortSignal): Promise<void> {
  const began = service.now().getTime();
  const before = new Date(began - DELIVERIES_KEPT_MS);
  while (
    !stop.aborted &&
    (await service.deliveries.prune(before, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE
  ) {
    if (service.now().getTime() - began > PRUNING_MS) return;
  }
  if (stop.aborted) return;
  await service.deliveries.pruneWebhooks(before);
  await service.audit.prune(new Date(began - AUDIT_KEPT_MS), PRUNED_AT_ONCE);
}
