/** Signpost in the test's own process, every role of it, in a world of its own. */
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { type Client, createClient } from './client.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export type Service = {
  readonly world: World;
  readonly client: Client;
  readonly signpost: Signpost;
  close(): Promise<void>;
};

export async function startService(options: WorldOptions): Promise<Service> {
  const world = await startWorld(options);
  const result = loadConfig(world.env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
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
