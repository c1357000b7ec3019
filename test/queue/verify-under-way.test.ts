/** Verify during a run of the domain's job: the requested check still comes. */

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DAY, HOUR } from '../../src/core/time.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { addFollowUps } from '../../src/queue/queues.ts';
import type { Service } from '../../src/service/service.ts';
import { startWorkers } from '../../workers/start.ts';
import { closeAfterEach } from '../support/closings.ts';
import { seenAs } from '../support/seen-as.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const closings = closeAfterEach();

function aPromise(): readonly [Promise<void>, () => void] {
  let keep = () => {};
  const promise = new Promise<void>((resolve) => {
    keep = resolve;
  });
  return [promise, () => keep()];
}

/** A function whose first run waits for its release. */
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

/** One domain, and workers whose reconciler runs only once, as the wake-up is tested. */
async function start(columns: Prisma.DomainUncheckedUpdateInput) {
  const fresh = await freshStorage('postgres_redis');
  closings.push(fresh.close);
  const env = { ROLE: 'api', VERIFY_WINDOW: '48h', TIME_SCALE: '1' };
  const service = await startService({ storage: fresh.storage, ca: 'local authority', env });
  closings.push(service.close);
  const { client, signpost } = service;
  const { service: plain } = signpost;
  await client.addDomain();
  const { prisma } = plain.database;
  const { id } = await prisma.domain.findFirstOrThrow();
  const row = () => prisma.domain.findUniqueOrThrow({ where: { id } });
  await plain.queues.remove('check-dns', { domainId: id, epoch: 1 });
  await prisma.domain.update({ where: { id }, data: columns });
  return {
    id,
    plain,
    row,
    async begin(members: Partial<Service>, sweepEveryMs = HOUR) {
      await addFollowUps(plain.queues, await row());
      const often = { 'recheck-live': sweepEveryMs, 'renew-certificate': HOUR };
      const times = { sweepEveryMs: often, reconcileEveryMs: HOUR };
      const workers = startWorkers({ ...plain, ...members }, times);
      closings.push(() => workers.close(10_000));
    },
    async verify() {
      expect((await client.call('POST', `${client.domainPath}/verify`)).status).toBe(202);
    },
  };
}

describe.skipIf(!onRedis?.available)('verify during a run', () => {
  it("of a pending domain's check starts a window with a new check", async () => {
    // The next check of the old window would come in 5 minutes.
    const { id, plain, row, begin, verify } = await start({
      pendingSince: new Date(Date.now() - DAY),
    });
    const observing = gated(() => seenAs('missing'));
    await begin({ observer: { ...plain.observer, observe: observing.run } });
    await observing.begun;
    await verify();
    observing.letGo();
    await until('a check of the new window', async () => {
      const { epoch, attempts } = await row();
      return epoch === 2 && attempts > 0;
    });
    await until('one job', async () => {
      const ids = await plain.queues.aliveIds('check-dns');
      return ids.size === 1 && ids.has(`${id}.2`);
    });
  }, 180_000);

  it("of a verified domain's order runs it once more, whatever the result was", async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * DAY);
    const verified = { status: 'verified', verifiedAt: daysAgo(3) } as const;
    const { id, plain, begin, verify } = await start(verified);
    // After these, the plan's next order would come in a day.
    await plain.database.prisma.certificate.createMany({
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
    const [one] = plain.authorities;
    await begin({
      observer: { ...plain.observer, observe: async (asked) => seenAs('right', asked) },
      authorities: [{ ...one, authority: { ...one.authority, advance: order.run } }],
    });
    await order.begun;
    await verify();
    order.letGo();
    await until('a second order', async () => order.runs() === 2);
  }, 180_000);

  it("of a live domain's check makes the next batch check it", async () => {
    const { plain, row, begin, verify } = await start({
      status: 'live',
      nextCheckAt: null,
      recheckAt: new Date(),
      certificateEndsAt: new Date(Date.now() + 60 * DAY),
    });
    const { hostname, target } = await row();
    const observing = gated(() => seenAs('right', { hostname, target }));
    await begin({ observer: { ...plain.observer, observe: observing.run } }, 1_000);
    await observing.begun;
    const { attempts } = await row();
    await verify();
    observing.letGo();
    await until('a second check', async () => observing.runs() === 2);
    // One check: the active one was not saved, and verify is not a check.
    await until('saved', async () => (await row()).attempts === attempts + 1);
  }, 180_000);
});
