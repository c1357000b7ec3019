/** Adds many domains to one project like the API, but without its limits. */

import { randomUUID } from 'node:crypto';
import { type IQueueBackend, Queue } from 'bullmq';
import { wholeInstallation } from '../../src/core/access.ts';
import type { NoConnection } from '../../src/queue/backend.ts';
import { addFollowUps } from '../../src/queue/queues.ts';
import type { Service } from '../../src/service/service.ts';
import type { World } from './world.ts';

export type OneOfMany = { readonly id: string; readonly hostname: string; readonly record: string };

/** Adds `count` domains `<prefix>1`, `<prefix>2`, …; `record` is each one's zone line. */
export async function addMany(
  service: Service,
  world: World,
  count: number,
  prefix = 'd',
): Promise<readonly OneOfMany[]> {
  const slug = `many-${randomUUID().slice(0, 8)}`;
  const project = await service.projects.create(wholeInstallation, {
    name: 'Many',
    slug,
    plan: 'pro',
  });
  if (project === null) throw new Error('the slug is taken');
  const domains: OneOfMany[] = [];
  // One at a time: each takes a transaction, and a service has ten connections.
  for (let number = 1; number <= count; number += 1) {
    const label = `${prefix}${number}`;
    const hostname = `${label}.${world.zone}`;
    const target = service.targetFor(project.id, hostname);
    const added = await service.domains.add(
      wholeInstallation,
      { projectId: project.id, hostname, target },
      new Date(),
    );
    if (added === null) throw new Error('added twice');
    await addFollowUps(service.queues, added);
    domains.push({ id: added.id, hostname, record: `${label} CNAME ${target}.` });
  }
  return domains;
}

/** The unfinished `check-dns` jobs as stored, with their data and stall count. */
export async function storedChecks({ backend: { queueOptions, factory } }: Service) {
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

export function countLive({ database }: Service, domains: readonly OneOfMany[]): Promise<number> {
  const id = { in: domains.map((domain) => domain.id) };
  return database.prisma.domain.count({ where: { id, status: 'live' } });
}

/** Every distinct sequence of events without findings, and the number of domains that have it. */
export async function stories(
  { database }: Service,
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

/** The expected sequence of a domain. */
export const lifeStory = 'domain.added domain.verified certificate.issued domain.live';
