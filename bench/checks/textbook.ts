/** A textbook worker: reads the row, asks the system's resolver, updates the row, and throws to be retried. */
import { Resolver } from 'node:dns/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { PrismaClient } from '../../src/db/generated/client.ts';
import { setting } from '../support/processes.ts';
import { measure, WAIT_MS } from './settings.ts';

const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: setting('DATABASE_URL'), max: 20 }),
});
const resolver = new Resolver();
resolver.setServers([`127.0.0.1:${setting('DNS_PORT')}`]);
const connection = new Redis(setting('REDIS_URL'), { maxRetriesPerRequest: null });
const queue = new Queue('textbook', { connection });

const domains = await prisma.domain.findMany({ select: { id: true } });
await queue.addBulk(
  domains.map(({ id }) => ({
    name: 'check',
    data: { domainId: id },
    opts: { jobId: id, attempts: 1_000_000, backoff: { type: 'fixed', delay: WAIT_MS } },
  })),
);

const worker = new Worker(
  'textbook',
  async ({ data }) => {
    const domain = await prisma.domain.findUniqueOrThrow({ where: { id: data.domainId } });
    const found = await resolver.resolveCname(domain.hostname).catch((): string[] => []);
    const right = found.includes(domain.target);
    await prisma.domain.update({
      where: { id: domain.id },
      data: {
        attempts: { increment: 1 },
        lastCheckedAt: new Date(),
        ...(right && { status: 'verified' }),
      },
    });
    if (!right) throw new Error('the record is not there yet');
  },
  { connection, concurrency: Number(process.env['CONCURRENCY'] ?? 50) },
);
worker.on('error', () => undefined);

const rate = await measure(async () => {
  const { _sum } = await prisma.domain.aggregate({ _sum: { attempts: true } });
  return _sum.attempts ?? 0;
});
process.stdout.write(`${JSON.stringify(rate)}\n`);
process.exit(0);
