/** Holds the queue of checks as an operator would, so that very many fall due at the same moment. */
import { Queue } from 'bullmq';
import { pino } from 'pino';
import { openDatabase } from '../../src/db/engine/client.ts';
import { openQueueBackend } from '../../src/queue/backend.ts';
import type { Servers } from './servers.ts';

export const queueStorages = ['redis', 'postgres'] as const;
/** What keeps the queue, beside PostgreSQL with the rows. */
export type QueueStorage = (typeof queueStorages)[number];

/** Opens the service's own queue from outside. */
export async function openChecks({ databaseUrl, redisUrl }: Servers, kept: QueueStorage) {
  const log = pino({ level: 'silent' });
  const database = await openDatabase({ kind: 'postgres', databaseUrl }, log);
  const storage =
    kept === 'redis'
      ? ({ kind: 'postgres_redis', databaseUrl, redisUrl } as const)
      : ({ kind: 'postgres', databaseUrl } as const);
  const backend = await openQueueBackend(storage, database, log);
  const queue = new Queue('check-dns', backend.queueOptions, backend.factory);
  return {
    hold: () => queue.pause(),
    release: () => queue.resume(),
    async close() {
      await queue.close();
      await backend.close();
      await database.close();
    },
  };
}
