/** Verify, pressed while a worker has the domain's job in its hands: the check that was asked for comes all the same. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createDueDomains } from '../../src/db/domains/sweeps.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { composeWorkers } from '../../src/roles/worker.ts';
import { recheckLive } from '../../workers/recheck-live.ts';
import { startWorkers, type WorkerDeps } from '../../workers/start.ts';
import { anObservation, missing, right } from '../support/builders.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const closings = closeAfterEach();

function aPromise(): readonly [Promise<void>, () => void] {
  let keep = () => {};
  const promise = new Promise<void>((resolve) => {
    keep = resolve;
  });
  return [promise, () => keep()];
}

/** A piece of work whose first run waits until it is let go. */
function gated<T>(answer: () => T) {
  const [begun, begin] = aPromise();
  const [free, letGo] = aPromise();
  let runs = 0;
  return {
    begun,
    letGo,
    runs: () => runs,
    async run(): Promise<T> {
      runs += 1;
      begin();
      await free;
      return answer();
    },
  };
}

/** One domain, and workers whose reconciler has one turn, at once: what wakes a job is what is tested. */
async function start(columns: Prisma.DomainUncheckedUpdateInput) {
  const fresh = await freshStorage('postgres_redis');
  closings.push(fresh.close);
  const env = { ROLE: 'api', VERIFY_WINDOW: '48h', TIME_SCALE: '1' };
  const service = await startService({ storage: fresh.storage, ca: 'local authority', env });
  closings.push(service.close);
  const { client, signpost } = service;
  const { parts } = signpost;
  await client.addDomain();
  const { prisma } = parts.database;
  const { id } = await prisma.domain.findFirstOrThrow();
  const row = () => prisma.domain.findUniqueOrThrow({ where: { id } });
  await parts.queues.remove('check-dns', { domainId: id, epoch: 1 });
  await prisma.domain.update({ where: { id }, data: columns });
  const composed = composeWorkers(parts);
  return {
    id,
    parts,
    composed,
    row,
    async begin(deps: Partial<WorkerDeps>) {
      await parts.wake(await row());
      const workers = startWorkers({ ...composed, ...deps, reconcileEveryMs: HOUR });
      closings.push(() => workers.close(10_000));
    },
    async verify() {
      expect((await client.call('POST', `${client.domainPath}/verify`)).status).toBe(202);
    },
  };
}

describe.skipIf(!onRedis?.available)('verify during a run', () => {
  it('of the check of a pending domain begins a window with a check of its own', async () => {
    // The next check of the old window would come in 5 minutes.
    const { id, composed, parts, row, begin, verify } = await start({
      pendingSince: new Date(Date.now() - DAY),
    });
    const observing = gated(() => ({ kind: 'observed', observation: anObservation() }) as const);
    await begin({
      checkDns: {
        ...composed.checkDns,
        observeAgain: observing.run,
        diagnose: async () => missing,
      },
    });
    await observing.begun;
    await verify();
    observing.letGo();
    await until('a check of the new window', async () => {
      const { epoch, attempts } = await row();
      return epoch === 2 && attempts > 0;
    });
    await until('one job', async () => {
      const ids = await parts.queues.aliveIds('check-dns');
      return ids.size === 1 && ids.has(`${id}.2`);
    });
  }, 180_000);

  it('of the order of a verified domain has it taken up once more, whatever came of that one', async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * DAY);
    const verified = { status: 'verified', verifiedAt: daysAgo(3) } as const;
    const { id, composed, parts, begin, verify } = await start(verified);
    // With these behind it the next order of the plan would come in a day.
    await parts.database.prisma.certificate.createMany({
      data: [1, 2, 3].map(() => ({
        id: randomUUID(),
        domainId: id,
        hostname: 'docs.shop.test',
        status: 'failed' as const,
        sealedKey: new Uint8Array(1),
        problem: { type: 'connection', detail: 'no' },
        createdAt: daysAgo(2),
        endedAt: daysAgo(2),
      })),
    });
    const problem = { type: 'connection', detail: 'no', retryAfter: null } as const;
    const order = gated(() => ({ kind: 'refused', problem }) as const);
    await begin({
      issueCertificate: {
        ...composed.issueCertificate,
        observe: async () => anObservation(),
        diagnose: async () => right,
        advance: order.run,
      },
    });
    await order.begun;
    await verify();
    order.letGo();
    await until('a second order', async () => order.runs() === 2);
  }, 180_000);

  it('of the check of a live domain has the next batch look at it', async () => {
    const { composed, parts, row, begin, verify } = await start({
      status: 'live',
      nextCheckAt: null,
      recheckAt: new Date(),
      certificateEndsAt: new Date(Date.now() + 60 * DAY),
    });
    const observing = gated(() => ({ kind: 'observed', observation: anObservation() }) as const);
    const deps = {
      ...composed.issueCertificate,
      load: parts.checks.load,
      due: createDueDomains(parts.database.prisma, 'recheck-live'),
      observeAgain: observing.run,
      diagnose: async () => right,
      escalationAtEnd: async () => undefined,
      onFault: (fault: unknown) => parts.log.error(fault),
      atOnce: 4,
    };
    const sweepEveryMs = { 'recheck-live': 1_000, 'renew-certificate': HOUR };
    await begin({
      recheckLive: (stop) => recheckLive(deps, stop),
      sweepEveryMs,
      reconcile: { ...composed.reconcile, sweepEveryMs },
    });
    await observing.begun;
    const { attempts } = await row();
    await verify();
    observing.letGo();
    await until('a second check', async () => observing.runs() === 2);
    // One check: the one under way was not saved, and verify is none.
    await until('saved', async () => (await row()).attempts === attempts + 1);
  }, 180_000);
});
