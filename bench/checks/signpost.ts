/** Signpost's worker as in production, on domains whose record is missing. Counts committed rows. */
import { destination, pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { startSignpost } from '../../src/start.ts';
import { setting, sleep } from '../support/processes.ts';
import { measure, workerEnvironment } from './settings.ts';

const result = loadConfig(
  workerEnvironment({
    databaseUrl: setting('DATABASE_URL'),
    redisUrl: setting('REDIS_URL'),
    dnsPort: setting('DNS_PORT'),
  }),
);
if (!result.ok) throw new Error(JSON.stringify(result.problems));
const { service } = await startSignpost(result.config, pino({ level: 'error' }, destination(2)));
const { prisma } = service.database;

const now = new Date();
await prisma.domain.updateMany({ data: { pendingSince: now, nextCheckAt: now } });
const domains = await prisma.domain.findMany({ select: { id: true, epoch: true } });
await service.queues.enqueue(
  'check-dns',
  domains.map(({ id, epoch }) => ({ job: { domainId: id, epoch }, runAt: now })),
);

// The first check of each domain is a full one; later ones are measured.
while ((await prisma.domain.count({ where: { attempts: 0 } })) > 0) await sleep(100);

const rate = await measure(async () => {
  const { _sum } = await prisma.domain.aggregate({ _sum: { attempts: true } });
  return _sum.attempts ?? 0;
});
process.stdout.write(`${JSON.stringify(rate)}\n`);
process.exit(0);
