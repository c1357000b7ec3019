import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../support/servers.ts';
import type { Fault, World } from '../fault.ts';
import { projectRoot } from '../system/roles.ts';
import type { System } from '../system/system.ts';
import { until } from '../system/wait.ts';

const PATIENCE_MS = 240_000;
const program = join(projectRoot, 'test', 'support', 'poisoned-worker.mjs');

type Poisoned = { deaths(): number; stop(): Promise<void> };

export const poisonedJob: Fault = {
  name: 'poisoned-job',
  what: 'a job that kills every `worker` that runs it',
  pass: 'quarantined after about five crashes, with its reason; other domains continue, and this one once it is fixed',
  seconds: 60,
  parts: ['worker', 'alone'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 60,
  mayLoseOrders: true,
  async inject(world) {
    const { system, pending, random } = world;
    const workers = system.placesOf('worker');
    const hostname = random.pick(pending);
    const [row] = await system.sql<{ id: string }>(
      `SELECT id FROM domain WHERE hostname = $1 AND removed_at IS NULL`,
      [hostname],
    );
    if (row === undefined) throw new Error(`${hostname} is not there`);
    await Promise.all(workers.map((place) => place.stop()));
    const poisoned = await Promise.all(workers.map(() => supervise(system, row.id)));
    try {
      const reason = await until(
        'the job is quarantined',
        () => quarantined(world, row.id),
        PATIENCE_MS,
      );
      const deaths = poisoned.reduce((sum, one) => sum + one.deaths(), 0);
      return { seen: [`quarantined after ${deaths} crashes (“${reason}”)`] };
    } finally {
      await Promise.all(poisoned.map((one) => one.stop()));
      await Promise.all(workers.map((place) => place.start()));
    }
  },
};

async function quarantined({ system }: World, domainId: string): Promise<string | undefined> {
  const [row] = await system.sql<{ reason: string }>(
    'SELECT reason FROM quarantine WHERE domain_id = $1',
    [domainId],
  );
  return row?.reason;
}

/** Runs a poisoned worker and restarts it whenever it dies. */
async function supervise({ env }: System, deadlyDomain: string): Promise<Poisoned> {
  let [stopped, deaths] = [false, 0];
  let child: ChildProcess | null = null;
  const ports = {
    EDGE_HTTP_PORT: String(await freePort()),
    EDGE_HTTPS_PORT: String(await freePort()),
  };
  const killAtExit = () => child?.kill('SIGKILL');
  process.once('exit', killAtExit);
  const running = (async () => {
    while (!stopped) {
      child = spawn(process.execPath, [program], {
        env: { PATH: process.env['PATH'], ...env, ...ports, DEADLY_DOMAIN: deadlyDomain },
        stdio: 'ignore',
      });
      const [, signal] = await once(child, 'exit');
      if (signal === 'SIGKILL' && !stopped) deaths += 1;
    }
  })();
  return {
    deaths: () => deaths,
    async stop() {
      stopped = true;
      child?.kill('SIGKILL');
      await running;
      process.off('exit', killAtExit);
    },
  };
}
