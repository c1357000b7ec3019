/** Workers whose servers are down for seconds wait without spinning and then recover. */
import { describe, expect, it } from 'vitest';
import { sweepQueues } from '../../src/core/operations/jobs.ts';
import { closeAfterEach } from '../support/closings.ts';
import { addMany, countLive, lifeStory, storedChecks, stories } from '../support/many-domains.ts';
import { lacks } from '../support/programs.ts';
import { startServiceOnOwnServers } from '../support/service.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const OUTAGE_MS = 2_000;
const DOMAINS = 20;

async function start() {
  const { postgres, redis, signpost, world } = await startServiceOnOwnServers(closings);
  const domains = await addMany(signpost.service, world, DOMAINS);
  const id = { in: domains.map((domain) => domain.id) };
  await until('looked at', async () => {
    const checked = { id, attempts: { gt: 0 } };
    return (
      (await signpost.service.database.prisma.domain.count({ where: checked })) === domains.length
    );
  });
  return { postgres, redis, domains, parts: signpost.service, world };
}

/** CPU time, as the duration depends on the outage itself. */
async function shareOfCpu(): Promise<number> {
  const [before, began] = [process.cpuUsage(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / (performance.now() - began);
}

const without =
  lacks('postgres', 'outages of PostgreSQL') || lacks('redis-server', 'outages of Redis');

describe.skipIf(without)('the workers', () => {
  it('wait for Redis without spinning, and resume when it is back empty', async () => {
    const { redis, domains, parts, world } = await start();
    await redis.kill();
    expect(await shareOfCpu()).toBeLessThan(0.7);
    await redis.restart();
    for (const name of sweepQueues) {
      await until(name, async () => {
        try {
          return (await parts.queues.aliveIds(name)).has('sweep');
        } catch {
          return false; // the connection is not back yet
        }
      });
    }
    await world.publish(domains.map(({ record }) => record));
    await until('all live', async () => (await countLive(parts, domains)) === DOMAINS);
    expect(await stories(parts, domains)).toEqual({ [lifeStory]: DOMAINS });
  });

  it('wait for PostgreSQL without spinning or quarantine, and resume when it is back', async () => {
    const { postgres, domains, parts, world } = await start();
    const wentAt = performance.now();
    await postgres.stop();
    expect(await shareOfCpu()).toBeLessThan(0.7);
    const jobs = await storedChecks(parts);
    const outageMs = performance.now() - wentAt;
    expect(jobs).toHaveLength(DOMAINS);
    // At least a quarter of a second apart in a test lab; a second and more in production.
    for (const { data } of jobs) {
      expect(data.faults ?? 0).toBe(0);
      expect(data.outages ?? 0).toBeLessThanOrEqual((outageMs / 250) * 1.5);
    }
    await postgres.restart();
    await world.publish(domains.map(({ record }) => record));
    await until('all live', async () => {
      try {
        return (await countLive(parts, domains)) === DOMAINS;
      } catch {
        return false;
      }
    });
    expect(await stories(parts, domains)).toEqual({ [lifeStory]: DOMAINS });
    expect(await parts.database.prisma.quarantine.count()).toBe(0);
  });
});
