/** Many domains of one project at once, added as the API adds them, without its limits. */
import { randomUUID } from 'node:crypto';
import { type IQueueBackend, Queue } from 'bullmq';
import type { NoConnection } from '../../src/queue/backend.ts';
import type { Parts } from '../../src/roles/parts.ts';
import { defaultAccount } from './access.ts';
import type { World } from './world.ts';

export type OneOfMany = { readonly id: string; readonly hostname: string; readonly record: string };

/** Adds `count` domains `<prefix>1`, `<prefix>2`, …; each `record` is the line of the zone that makes it right. */
export async function addMany(
  parts: Parts,
  world: World,
  count: number,
  prefix = 'd',
): Promise<readonly OneOfMany[]> {
  const slug = `many-${randomUUID().slice(0, 8)}`;
  const project = await parts.projects.create(defaultAccount, { name: 'Many', slug, plan: 'pro' });
  if (project === null) throw new Error('the slug is taken');
  const domains: OneOfMany[] = [];
  // One after the other: each takes a transaction, and a service has ten connections.
  for (let number = 1; number <= count; number += 1) {
    const label = `${prefix}${number}`;
    const hostname = `${label}.${world.zone}`;
    const target = parts.targetFor(project.id, hostname);
    const added = await parts.domains.add(
      { projectId: project.id, hostname, target, claimNonce: hostname },
      new Date(),
    );
    if (added === null) throw new Error('added twice');
    await parts.wake(added);
    domains.push({ id: added.id, hostname, record: `${label} CNAME ${target}.` });
  }
  return domains;
}

/** The jobs of `check-dns` that are not over, as they are stored: what a worker keeps in them, and how often it died. */
export async function storedChecks({ backend: { queueOptions, factory } }: Parts) {
  const queue = new Queue<Kept, void, string, Kept, void, string, IQueueBackend, NoConnection>(
    'check-dns',
    queueOptions,
    factory,
  );
  try {
    return await queue.getJobs(['waiting', 'prioritized', 'delayed', 'active'], 0, -1);
  } finally {
    await queue.close();
  }
}
type Kept = { readonly faults?: number; readonly outages?: number };

/** How many of them are live. */
export function countLive({ database }: Parts, domains: readonly OneOfMany[]): Promise<number> {
  const id = { in: domains.map((domain) => domain.id) };
  return database.prisma.domain.count({ where: { id, status: 'live' } });
}

/** What happened to each of them, findings left out: every story that there is, and how many have it. */
export async function stories(
  { database }: Parts,
  domains: readonly OneOfMany[],
): Promise<Record<string, number>> {
  const events = await database.prisma.event.findMany({
    where: { domainId: { in: domains.map(({ id }) => id) } },
    orderBy: { id: 'asc' },
  });
  const recorded = new Map<string, string[]>(domains.map(({ id }) => [id, []]));
  for (const { domainId, type } of events) {
    if (type !== 'domain.findings_changed') recorded.get(domainId)?.push(type);
  }
  const counted: Record<string, number> = {};
  for (const types of recorded.values()) {
    const story = types.join(' ');
    counted[story] = (counted[story] ?? 0) + 1;
  }
  return counted;
}

/** The one story that a domain should have. */
export const lifeStory = 'domain.added domain.verified certificate.issued domain.live';
