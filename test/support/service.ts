/** Signpost in this process with every role, in a new world. */
import { type Logger, pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { type Client, createClient } from './client.ts';
import type { Closings } from './closings.ts';
import { startPostgres, startRedis } from './servers.ts';
import { freshStorage } from './storage.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export type RunningService = {
  readonly world: World;
  readonly client: Client;
  readonly signpost: Signpost;
  close(): Promise<void>;
};

/** A service with dedicated servers that a test may stop; `closings` ends them. */
export async function startServiceOnOwnServers(closings: Closings) {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  closings.push(postgres.close, redis.close);
  const storage = {
    kind: 'postgres_redis',
    databaseUrl: postgres.url,
    redisUrl: redis.url,
  } as const;
  const service = await startService({ storage, ca: 'local authority' });
  closings.push(service.close);
  return { postgres, redis, ...service };
}

/** The API, alone if the storage allows that, on new storage: for tests of its clients. */
export async function startApi(): Promise<RunningService> {
  const fresh = await freshStorage();
  const env = fresh.storage.kind === 'embedded' ? {} : { ROLE: 'api' };
  const service = await startService({ storage: fresh.storage, ca: 'local authority', env });
  return {
    ...service,
    async close() {
      await service.close();
      await fresh.close();
    },
  };
}

export async function startService(
  options: WorldOptions,
  log: Logger = pino({ level: 'silent' }),
): Promise<RunningService> {
  const world = await startWorld(options);
  const result = loadConfig(world.env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, log);
  return {
    world,
    client: createClient(world),
    signpost,
    async close() {
      await signpost.close(10_000);
      await world.close();
    },
  };
}
