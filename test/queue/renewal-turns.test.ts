import { describe, expect, it } from 'vitest';
import { composeWorkers } from '../../src/roles/worker.ts';
import { done } from '../../workers/running/job.ts';
import { startWorkers } from '../../workers/start.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const HOUR = 3_600_000;
const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const closings = closeAfterEach();

describe.skipIf(!onRedis?.available)('the renewal job', () => {
  it('runs again at once after escalations and renewal information, and idles when nothing is due', async () => {
    const { storage, close } = await freshStorage('postgres_redis');
    closings.push(close);
    const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
    closings.push(service.close);
    const { service: parts } = service.signpost;
    const composed = composeWorkers(parts);
    const order: string[] = [];
    const did = async (what: string) => {
      order.push(what);
      return done;
    };
    const workers = startWorkers({
      ...composed,
      async renewCertificate() {
        await did('renew');
        const isFirst = order.length === 1;
        return isFirst ? { kind: 'again', at: new Date(), note: 'more may be due' } : done;
      },
      escalateRenewals: () => did('escalate'),
      askRenewals: () => did('ask'),
      // Its own result wakes the job for the second time: the reconciler does not run.
      sweepEveryMs: { 'recheck-live': HOUR, 'renew-certificate': HOUR },
      reconcile: {
        ...composed.reconcile,
        waiting: { ...composed.reconcile.waiting, takeTurn: async () => false },
        sweepEveryMs: { 'recheck-live': HOUR, 'renew-certificate': 1 },
      },
    });
    closings.push(() => workers.close(10_000));
    const turn = ['renew', 'escalate', 'ask'];
    await until('two turns', async () => order.length === 2 * turn.length);
    expect(order).toEqual([...turn, ...turn]);
    await until('a rest', async () => {
      const { active, delayed } = await parts.queues.counts('renew-certificate');
      return active === 0 && delayed === 1;
    });
  }, 180_000);
});
