/**
 * Recovered: every process is ready, nothing is late, and a new domain goes live and is served by
 * each edge.
 */
import type { World } from './fault.ts';
import { visitOnce } from './load/visitors.ts';
import type { System } from './system/system.ts';
import { until } from './system/wait.ts';

/** Allows for a shared machine, but not for a hanging one. */
const DEADLINE_MS = 180_000;
/** The API allows 100 an hour per project. */
const PROBES_A_PROJECT = 90;

const probes = { count: 0, projectId: '' };

/** Counts from now. Rejects after the deadline. */
export async function secondsUntilWorking(world: World): Promise<number> {
  const began = performance.now();
  const left = () => Math.max(1_000, DEADLINE_MS - (performance.now() - began));
  const { system } = world;
  await until('every process is ready', () => allReady(system), left());
  const hostname = await until('a domain is added', () => addProbe(world), left());
  await until(`${hostname} is live`, () => isLive(world, hostname), left());
  for (const { name, ports } of system.placesOf('edge')) {
    const serves = async () => (await visitOnce(system, hostname, ports.https)) === null;
    await until(`${name} serves ${hostname}`, serves, left());
  }
  await until('nothing is late', () => isNothingLate(world), left());
  return (performance.now() - began) / 1_000;
}

export async function allReady(system: System): Promise<boolean> {
  const ready = await Promise.all(system.places.map((place) => place.isReady()));
  return ready.every(Boolean);
}

async function addProbe({ client, messages, system }: World): Promise<string | null> {
  const { count } = probes;
  if (count % PROBES_A_PROJECT === 0 || probes.projectId === '') {
    probes.projectId = (await client.createProject(`probes-${count}`, messages.url)) ?? '';
  }
  probes.count += 1;
  if (probes.projectId === '') return null;
  const hostname = `probe-${count}.one.test`;
  const target = await client.addDomain(probes.projectId, hostname);
  if (target === null) return null;
  await system.zones.point(hostname, target);
  return hostname;
}

async function isLive({ client }: World, hostname: string): Promise<boolean> {
  const { body } = await client.call('GET', `/v1/projects/${probes.projectId}/domains/${hostname}`);
  return (body as { status?: string }).status === 'live';
}

async function isNothingLate({ system }: World): Promise<boolean> {
  const [row] = await system.sql<{ late: string }>(
    `SELECT count(*) AS late FROM domain WHERE removed_at IS NULL
       AND coalesce(recheck_at, next_check_at) < now() - interval '10 seconds'`,
  );
  return row?.late === '0';
}
