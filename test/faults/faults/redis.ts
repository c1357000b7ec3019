import { Redis } from 'ioredis';
import { startRedis } from '../../support/servers.ts';
import type { Fault } from '../fault.ts';
import { sleep, until } from '../system/wait.ts';

const tolerance = { api: 'none', visitors: 'none' } as const;

export const redisFlushed: Fault = {
  name: 'redis-flushed',
  what: 'FLUSHALL under load',
  pass: 'no domain lost, the schedule rebuilt within 60 s',
  seconds: 2,
  parts: ['redis'],
  tolerance,
  recoverySeconds: 60,
  async inject({ system }) {
    await system.redis.flush();
    return {};
  },
};

const AWAY_MS = 20_000;

export const redisAway: Fault = {
  name: 'redis-away',
  what: `Redis killed, and empty when it is back after ${AWAY_MS / 1_000} s`,
  pass: 'writes stay 2xx, the backlog is drained within 120 s',
  seconds: 22,
  parts: ['redis'],
  tolerance,
  recoverySeconds: 120,
  async inject({ system }) {
    await system.redis.kill();
    await sleep(AWAY_MS);
    await system.redis.restart();
    return {};
  },
};

export const redisFull: Fault = {
  name: 'redis-full',
  what: '`maxmemory` below what Redis holds, with `noeviction`, for 15 s',
  pass: 'nothing is evicted, writes stay 2xx, everything recovers',
  seconds: 16,
  parts: ['redis'],
  tolerance,
  recoverySeconds: 60,
  async inject({ system }) {
    const client = new Redis(system.redis.url);
    client.on('error', () => {});
    try {
      await client.config('SET', 'maxmemory-policy', 'noeviction');
      await client.config('SET', 'maxmemory', '1mb');
      await sleep(15_000);
      const refused = await client.set('faults', 'x').then(
        () => ['Redis was not full'],
        () => [],
      );
      const evicted = /evicted_keys:(\d+)/.exec(await client.info('stats'))?.[1];
      await client.config('SET', 'maxmemory', '0');
      return { wrong: [...refused, ...(evicted === '0' ? [] : [`${evicted} keys were evicted`])] };
    } finally {
      client.disconnect();
    }
  },
};

export const redisPromoted: Fault = {
  name: 'redis-promoted',
  what: 'the primary cut off and its replica promoted, and back again',
  pass: 'no domain lost, writes stay 2xx',
  seconds: 15,
  parts: ['redis'],
  tolerance,
  recoverySeconds: 60,
  async inject({ system }) {
    const replica = await startRedis();
    try {
      await handOver(system.redis.url, replica.url);
      system.redisProxy.leadTo(portOf(replica.url));
      await sleep(5_000);
      await handOver(replica.url, system.redis.url);
      system.redisProxy.leadTo(portOf(system.redis.url));
      return {};
    } finally {
      await replica.close();
    }
  },
};

/** Replicates `primary` to `next`, then promotes it. Writes in between are lost. */
async function handOver(primary: string, next: string): Promise<void> {
  const client = new Redis(next);
  try {
    await client.replicaof('127.0.0.1', portOf(primary));
    const linked = async () => (await client.info('replication')).includes('master_link_status:up');
    await until('the replica follows', linked, 30_000);
    await client.replicaof('NO', 'ONE');
  } finally {
    client.disconnect();
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
