/** A domain of a new project with a correct record; retried until the API accepts it. */
import type { World } from '../fault.ts';
import { until } from '../system/wait.ts';

const PATIENCE_MS = 120_000;

export async function addNewcomer(world: World, prefix: string, zone: string): Promise<string> {
  const { client, messages, random, system } = world;
  const add = async () => {
    const label = `${prefix}-${random.between(0, 1e9)}`;
    const projectId = await client.createProject(label, messages.url);
    if (projectId === null) return null;
    const hostname = `${label}.${zone}`;
    const target = await client.addDomain(projectId, hostname);
    return target === null ? null : { hostname, target };
  };
  const { hostname, target } = await until('the API takes a domain', add, PATIENCE_MS);
  await system.zones.point(hostname, target);
  return hostname;
}

export async function statusOfNewcomer({ system }: World, hostname: string) {
  const [row] = await system.sql<{ status: string }>(
    'SELECT status FROM domain WHERE hostname = $1',
    [hostname],
  );
  return row?.status;
}
