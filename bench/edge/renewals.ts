/**
 * Renewals per second of one worker when many certificates are due at once, which happens if a CA will revoke them: with the local
 * CA, to measure our own cost, and with Pebble, where an order takes seconds, as in production.
 */
import { startPebble } from '../../test/support/pebble.ts';
import { freePort } from '../../test/support/servers.ts';
import { numberFrom } from '../support/figures.ts';
import { cpuUsOf, cpuUsOfTree, sleep, stop } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import type { Servers } from './servers.ts';
import { openSites } from './sites.ts';

const RENEWALS = numberFrom('RENEWALS', 500);
/** Pebble waits a random time up to this before it validates. */
const VALIDATION_SECONDS = 10;
const GIVE_UP_MS = 30 * 60_000;

const authorities = ['local', 'pebble'] as const;
type Authority = (typeof authorities)[number];

/** `orderMs`: median from opening an order to its certificate. CPU microseconds per renewal. */
type Measured = {
  readonly rate: number;
  readonly orderMs: number;
  readonly own: number;
  readonly database: number;
};

export async function renewals(servers: Servers): Promise<readonly string[]> {
  const sites = await openSites(servers, RENEWALS);
  try {
    const rows: string[] = [];
    for (const authority of authorities) {
      const { rate, orderMs, own, database } = await measure(servers, authority);
      rows.push(
        `| ${authority} | ${RENEWALS} | ${rate.toFixed(1)} | ${(orderMs / 1_000).toFixed(1)} s | ${(own / 1_000).toFixed(1)} | ${(database / 1_000).toFixed(1)} |`,
      );
    }
    return [
      '| authority | renewals | a second | an order takes, p50 | CPU ms of the worker | of PostgreSQL |',
      '|---|---|---|---|---|---|',
      ...rows,
    ];
  } finally {
    await sites.close();
  }
}

async function measure(servers: Servers, authority: Authority): Promise<Measured> {
  const [http, https] = [await freePort(), await freePort()];
  const edge = await startService(servers, {
    ROLE: 'edge',
    EDGE_HTTP_PORT: String(http),
    EDGE_HTTPS_PORT: String(https),
  });
  const pebble =
    authority === 'local'
      ? null
      : await startPebble({
          httpPort: http,
          tlsPort: https,
          dnsServer: `127.0.0.1:${servers.dnsPort}`,
          sleepSeconds: VALIDATION_SECONDS,
        });
  const worker = await startService(servers, {
    ROLE: 'worker',
    ACME_HTTP_PORT: String(http),
    ...(pebble && { ACME_DIRECTORY_URL: pebble.directoryUrl, ACME_CA_FILE: pebble.caFile }),
  });
  try {
    const before = cpuOf(servers, worker.child.pid);
    const { rate, orderMs } = await renewAll(servers);
    const after = cpuOf(servers, worker.child.pid);
    const per = (figure: 'own' | 'database') => (after[figure] - before[figure]) / RENEWALS;
    return { rate, orderMs, own: per('own'), database: per('database') };
  } finally {
    await stop(worker.child);
    await pebble?.close();
    await stop(edge.child);
  }
}

function cpuOf({ postgresPid }: Servers, pid: number | undefined) {
  return { own: cpuUsOf(pid), database: cpuUsOfTree(postgresPid) };
}

/** Makes all due, and waits for the next certificate of each. Starts at the opening of the first order. */
async function renewAll({ pool }: Servers): Promise<Pick<Measured, 'rate' | 'orderMs'>> {
  const { rows: due } = await pool.query<{ at: Date }>(
    `WITH old AS (UPDATE certificate SET issued_at = now() - interval '80 days', expires_at = now() + interval '10 days'
       WHERE status = 'issued')
     UPDATE domain SET renew_at = now() RETURNING renew_at AS at`,
  );
  const since = due[0]?.at;
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    const { rows } = await pool.query<{ count: number; seconds: number; ms: number }>(
      `SELECT count(*)::int AS count, extract(epoch FROM max(ended_at) - min(created_at))::float8 AS seconds,
         1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - created_at)) AS ms
       FROM certificate WHERE status = 'issued' AND created_at > $1`,
      [since],
    );
    const [row] = rows;
    if (row !== undefined && row.count === RENEWALS)
      return { rate: RENEWALS / row.seconds, orderMs: row.ms };
    if (Date.now() > deadline) throw new Error(`${row?.count} of ${RENEWALS} were renewed`);
    process.stderr.write(`${row?.count} of ${RENEWALS} are renewed\n`);
    await sleep(2_000);
  }
}
