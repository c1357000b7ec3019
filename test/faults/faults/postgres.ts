import pg from 'pg';
import type { Fault, World } from '../fault.ts';
import { ask } from '../system/ask.ts';
import { OUR_NAME } from '../system/system.ts';
import { sleep } from '../system/wait.ts';

export const postgresRestarted: Fault = {
  name: 'postgres-restarted',
  what: 'PostgreSQL stopped under load, its connections cut, restarted after 3 s',
  pass: 'the API answers 503 only, known names are served, recovery within 5 s',
  seconds: 6,
  parts: ['postgres'],
  tolerance: { api: '503', visitors: 'none' },
  recoverySeconds: 5,
  mayLoseOrders: true,
  async inject({ system }) {
    await system.postgres.stop();
    await sleep(3_000);
    await system.postgres.restart();
    return {};
  },
};

export const postgresAwayAtStart: Fault = {
  name: 'postgres-away-at-start',
  what: 'an `api` and a `worker` started 8 s before PostgreSQL',
  pass: 'both are live but not ready, and become ready automatically',
  seconds: 15,
  parts: ['postgres', 'api', 'worker'],
  tolerance: { api: 'any', visitors: 'none' },
  recoverySeconds: 20,
  mayLoseOrders: true,
  async inject({ system }) {
    const [api, worker] = [system.placesOf('api')[0], system.placesOf('worker')[0]];
    if (api === undefined || worker === undefined) throw new Error('there is no api or no worker');
    await Promise.all([api.kill(), worker.kill()]);
    await system.postgres.stop();
    api.launch();
    worker.launch();
    await sleep(8_000);
    const wrong: string[] = [];
    for (const { name, ports } of [api, worker]) {
      const base = `http://127.0.0.1:${ports.metrics}`;
      const [alive, ready] = [
        await ask('GET', `${base}/healthz`),
        await ask('GET', `${base}/readyz`),
      ];
      if (alive.status !== 200) wrong.push(`${name}: /healthz is ${alive.status}`);
      if (ready.status !== 503) wrong.push(`${name}: /readyz is ${ready.status}`);
    }
    await system.postgres.restart();
    return { wrong };
  },
};

export const postgresFull: Fault = {
  name: 'postgres-out-of-connections',
  what: 'every connection of PostgreSQL taken by another client for 10 s',
  pass: 'waits are bounded, the API answers 503 only, `/healthz` stays 200',
  seconds: 14,
  parts: ['postgres'],
  tolerance: { api: '503', visitors: 'none' },
  recoverySeconds: 10,
  mayLoseOrders: true,
  async inject(world) {
    const taken = await takeConnections(world);
    await sleep(10_000);
    const wrong = await unhealthy(world);
    await Promise.all(taken.map((client) => client.end().catch(() => {})));
    return { seen: [`${taken.length} connections taken`], wrong };
  },
};

export const postgresSlow: Fault = {
  name: 'postgres-slow',
  what: '2 s of delay to PostgreSQL, for 20 s',
  pass: 'waits are bounded, the API answers right or 503, `/healthz` stays 200',
  seconds: 22,
  parts: ['postgres'],
  // A client times out after 15 s, so a slower response counts as a failure.
  tolerance: { api: '503', visitors: 'none' },
  recoverySeconds: 30,
  mayLoseOrders: true,
  async inject(world) {
    world.system.postgresProxy.delay(2_000);
    await sleep(20_000);
    const wrong = await unhealthy(world);
    world.system.postgresProxy.delay(0);
    return { wrong };
  },
};

/** Takes the free connections, ends the service's and takes those too, several times. */
async function takeConnections({ system }: World): Promise<pg.Client[]> {
  const taken: pg.Client[] = [];
  const AT_ONCE = 20;
  for (let ended = 0; ended < 5; ) {
    const opened = await Promise.all(
      Array.from({ length: AT_ONCE }, () => connectTo(system.postgres.url)),
    );
    taken.push(...opened.filter((client) => client !== null));
    if (opened.every((client) => client !== null)) continue;
    ended += 1;
    await taken[0]?.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE client_port IS NOT NULL AND application_name <> $1`,
      [OUR_NAME],
    );
  }
  return taken;
}

async function connectTo(url: string): Promise<pg.Client | null> {
  const client = new pg.Client({ connectionString: url, application_name: OUR_NAME });
  client.on('error', () => {});
  return client.connect().then(
    () => client,
    () => null,
  );
}

async function unhealthy({ system }: World): Promise<string[]> {
  const asked = system.places.map(async ({ name, ports }) => {
    const { status } = await ask('GET', `http://127.0.0.1:${ports.metrics}/healthz`);
    return status === 200 ? [] : [`${name}: /healthz is ${status}`];
  });
  return (await Promise.all(asked)).flat();
}
