/** Signpost's worker as in production, on domains whose record is missing. Counts committed rows. */
import { destination, pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { startSignpost } from '../../src/start.ts';
import { setting, sleep } from '../support/processes.ts';
import { measure } from './settings.ts';

const dnsPort = setting('DNS_PORT');
const result = loadConfig({
  ROLE: 'worker',
  DATABASE_URL: setting('DATABASE_URL'),
  ACME_DIRECTORY_URL: 'local',
  REDIS_URL: setting('REDIS_URL'),
  KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  API_KEY: 'an unused API key',
  DNS_SERVERS: `127.0.0.1:${dnsPort}`,
  DNS_AUTHORITY_PORT: dnsPort,
  DNS_ALLOW_PRIVATE: 'true',
  UPSTREAM_NETWORKS: '127.0.0.0/8',
  // Short enough that every wait is the minimum, WAIT_MS.
  VERIFY_WINDOW: '10m',
  TIME_SCALE: '288',
});
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
