import { describe, expect, it, vi } from 'vitest';
import { startWorkers } from '../../workers/start.ts';
import { closeAfterEach } from '../support/closings.ts';
import { noOtherWork } from '../support/endless-checks.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

/** By the time that each part of the job has at most. */
const parts = new Map([
  [300_000, 'renew'],
  [120_000, 'escalate'],
  [60_000, 'ask'],
]);
const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const closings = closeAfterEach();

describe.skipIf(!onRedis?.available)('the renewal job', () => {
  it('runs again at once after escalations and renewal information, and idles when nothing is due', async () => {
    const { storage, close } = await freshStorage('postgres_redis');
    closings.push(close);
    const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
    closings.push(service.close);
    const { service: plain } = service.signpost;
    const order: string[] = [];
    const { timeout } = AbortSignal;
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const part = parts.get(ms);
      if (part !== undefined) order.push(part);
      // As if the first run had used up its time.
      return part === 'renew' && order.length === 1
        ? AbortSignal.abort()
        : timeout.call(AbortSignal, ms);
    });
    closings.push(async () => void vi.restoreAllMocks());
    await plain.queues.ensure('renew-certificate', [{ job: {}, runAt: new Date() }]);
    // Its own result wakes the job for the second time: the reconciler does not run.
    const waiting = { ...plain.waiting, takeTurn: async () => false };
    const workers = startWorkers({ ...plain, waiting }, noOtherWork);
    closings.push(() => workers.close(10_000));
    const turn = ['renew', 'escalate', 'ask'];
    await until('two turns', async () => order.length === 2 * turn.length);
    expect(order).toEqual([...turn, ...turn]);
    await until('a rest', async () => {
      const { active, delayed } = await plain.queues.counts('renew-certificate');
      return active === 0 && delayed === 1;
    });
  }, 180_000);
});
