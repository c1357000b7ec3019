/**
 * `npm run bench:pets`: requests per second of the pets API, beside a textbook service and beside the minimum that
 * node:http and pg need, in one run. ROUNDS, SECONDS and WARM_UP shorten it (`ROUNDS=1 SECONDS=3`).
 */
import pg from 'pg';
import { migrate } from '../../src/db/engine/migrate.ts';
import { startPostgres, startRedis } from '../../test/support/servers.ts';
import { machine, median, numberFrom } from '../support/figures.ts';
import { type Contender, contenders, runLoad, startContender } from './contenders.ts';
import { type Measured, type Operation, operations, PETS } from './settings.ts';

const rounds = numberFrom('ROUNDS', 3);
const seconds = numberFrom('SECONDS', 8);
const warmUp = numberFrom('WARM_UP', 4);

const redis = await startRedis();
const postgres = await startPostgres({ durable: true });
const pool = new pg.Pool({ connectionString: postgres.url });
const loads = new Map<string, Measured[]>();
try {
  await migrate(pool);
  for (let round = 0; round < rounds; round += 1) {
    for (const place of contenders.keys()) {
      // Each round starts with another one: the machine's temperature and load change during a round.
      const contender = contenders[(place + round) % contenders.length];
      if (contender !== undefined) await measure(contender, round);
    }
  }
  await report();
} finally {
  await pool.end();
  await Promise.all([redis.close(), postgres.close()]);
}

async function measure(contender: Contender, round: number): Promise<void> {
  await fill();
  const started = await startContender(contender, {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
  });
  try {
    for (const operation of operations) {
      await runLoad(contender, started, operation, warmUp);
      const load = await runLoad(contender, started, operation, seconds);
      loads.set(nameOf(contender, operation), [...loadsOf(contender, operation), load]);
      process.stderr.write(`round ${round + 1}: ${contender}, ${operation}: ${load.rate}/s\n`);
    }
  } finally {
    await started.stop();
  }
}

/** Every contender starts with the same rows, without dead rows and without a key. */
async function fill(): Promise<void> {
  await pool.query('TRUNCATE pet RESTART IDENTITY');
  await pool.query('TRUNCATE api_key CASCADE');
  await pool.query(`
    INSERT INTO pet (name, category_id, status)
    SELECT 'Rex the ' || n || 'th', n % 50, (enum_range(NULL::pet_status))[1 + n % 3]
    FROM generate_series(1, ${PETS}) AS n`);
  await pool.query('VACUUM ANALYZE pet');
  await pool.query('CHECKPOINT');
}

function nameOf(contender: Contender, operation: Operation): string {
  return `${contender}/${operation}`;
}

function loadsOf(contender: Contender, operation: Operation): readonly Measured[] {
  return loads.get(nameOf(contender, operation)) ?? [];
}

function rateOf(contender: Contender, operation: Operation): number {
  return median(loadsOf(contender, operation).map(({ rate }) => rate));
}

async function report(): Promise<void> {
  const { rows } = await pool.query<{ server_version: string }>('SHOW server_version');
  const postgresVersion = rows[0]?.server_version;
  const lines = [
    `${machine()}, PostgreSQL ${postgresVersion}; ${rounds} rounds of ${seconds} s, medians`,
    '',
    '| operation | contender | requests/s | p50 ms | p99 ms | CPU µs | rounds |',
    '|---|---|---|---|---|---|---|',
    ...operations.flatMap((operation) => contenders.map((each) => row(each, operation))),
    '',
    ...operations.map(ratios),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function row(contender: Contender, operation: Operation): string {
  const of = loadsOf(contender, operation);
  const [p50, p99, cpuUs] = (['p50', 'p99', 'cpuUs'] as const).map((figure) =>
    median(of.map((load) => load[figure])),
  );
  const each = of.map(({ rate }) => rate).join(' · ');
  return `| ${operation} | ${contender} | ${rateOf(contender, operation)} | ${p50} | ${p99} | ${cpuUs} | ${each} |`;
}

function ratios(operation: Operation): string {
  const to = (peer: Contender) =>
    (rateOf('signpost', operation) / rateOf(peer, operation)).toFixed(2);
  return `${operation.padEnd(9)}  signpost / textbook ${to('textbook')}   signpost / plain ${to('plain')}`;
}
