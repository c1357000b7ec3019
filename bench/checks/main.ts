/**
 * `npm run bench:checks`: looks at domains a second, beside BullMQ doing nothing and beside a textbook worker, in one run.
 * Private Redis and PostgreSQL (durable: fsync on) and a real name server on loopback; one process a contender.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { openDatabase } from '../../src/db/client.ts';
import { Prisma, PrismaClient } from '../../src/db/generated/client.ts';
import { migrate } from '../../src/db/migrate.ts';
import { startPostgres, startRedis } from '../../test/support/servers.ts';
import { DOMAINS, hostnameOf } from './settings.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 3);
const contenders = ['no-op', 'textbook', 'signpost'] as const;
type Contender = (typeof contenders)[number];

const redis = await startRedis();
const postgres = await startPostgres({ durable: true });
const nameServer = start('name-server', {});
try {
  const dnsPort = await firstLine(nameServer);
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, DNS_PORT: dnsPort };
  await migrateAndFill(postgres.url);
  const rates: Record<Contender, number[]> = { 'no-op': [], textbook: [], signpost: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const contender of contenders) {
      await reset(postgres.url, redis.url);
      rates[contender].push(await run(contender, env));
      process.stderr.write(`round ${round}: ${contender} ${rates[contender].at(-1)}/s\n`);
    }
  }
  report(rates);
} finally {
  nameServer.kill();
  await Promise.all([redis.close(), postgres.close()]);
}

function report(rates: Readonly<Record<Contender, readonly number[]>>): void {
  const medians = contenders.map((name) => [name, median(rates[name])] as const);
  const of = new Map(medians);
  const ratio = (other: Contender) => ((of.get('signpost') ?? 0) / (of.get(other) ?? 1)).toFixed(2);
  const lines = [
    `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}; ${ROUNDS} rounds, medians`,
    ...medians.map(([name, rate]) => `${name.padEnd(10)} ${rate}/s   (${rates[name].join(', ')})`),
    `signpost / no-op     ${ratio('no-op')}`,
    `signpost / textbook  ${ratio('textbook')}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function run(contender: Contender, env: Record<string, string>): Promise<number> {
  const child = start(contender, env);
  const rate = Number(await firstLine(child));
  if (child.exitCode === null) await once(child, 'exit');
  if (!(rate > 0)) throw new Error(`${contender} measured nothing`);
  return rate;
}

function start(name: string, env: Record<string, string>): ChildProcess {
  const path = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  return fork(path, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) return '';
  for await (const chunk of stdout.setEncoding('utf8')) {
    const line = String(chunk).trim();
    if (line !== '') return line;
  }
  return text(stdout);
}

async function migrateAndFill(url: string): Promise<void> {
  const storage = { kind: 'postgres', databaseUrl: url } as const;
  const database = await openDatabase(storage, pino({ level: 'silent' }));
  await migrate(database.pool);
  const { prisma } = database;
  const projectId = '00000000-0000-4000-8000-00000000000a';
  const now = new Date();
  await prisma.project.create({ data: { id: projectId, name: 'Bench', slug: 'bench' } });
  const rows = Array.from({ length: DOMAINS }, (_, index) => ({
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    projectId,
    hostname: hostnameOf(index),
    target: 'x.edge.signpost.test',
    status: 'pending' as const,
    addedAt: now,
    pendingSince: now,
    nextCheckAt: now,
  }));
  for (let from = 0; from < DOMAINS; from += 1_000) {
    await prisma.domain.createMany({ data: rows.slice(from, from + 1_000) });
  }
  await database.close();
}

/** Every contender begins with the same rows, an empty queue and a table without dead rows. */
async function reset(databaseUrl: string, redisUrl: string): Promise<void> {
  const operator = new Redis(redisUrl);
  await operator.flushall();
  operator.disconnect();
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
  await prisma.event.deleteMany();
  await prisma.domain.updateMany({
    data: { attempts: 0, findings: [], observation: Prisma.DbNull },
  });
  await prisma.$executeRawUnsafe('VACUUM FULL ANALYZE domain');
  await prisma.$disconnect();
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
