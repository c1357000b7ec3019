/** The ceiling: BullMQ takes a job and delays it again. */
import { DelayedError, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { setting } from '../support/processes.ts';
import { DOMAINS, measure, WAIT_MS } from './settings.ts';

const connection = new Redis(setting('REDIS_URL'), { maxRetriesPerRequest: null });
const queue = new Queue('no-op', { connection });
await queue.addBulk(
  Array.from({ length: DOMAINS }, (_, index) => ({
    name: 'no-op',
    data: { domainId: `d${index}` },
    opts: { jobId: `d${index}` },
  })),
);

let checks = 0;
const worker = new Worker(
  'no-op',
  async (job, token) => {
    checks += 1;
    await job.moveToDelayed(Date.now() + WAIT_MS, token);
    throw new DelayedError();
  },
  { connection, concurrency: 200 },
);
worker.on('error', () => undefined);
process.stdout.write(`${JSON.stringify(await measure(async () => checks))}\n`);
process.exit(0);
