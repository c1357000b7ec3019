/** A service on a test's own database, without queues and without requests to anything else. */
import { pino } from 'pino';
import { deriveSecrets } from '../../src/certificates/vault/derived-secrets.ts';
import { loadConfig } from '../../src/config/config.ts';
import { jobId } from '../../src/core/operations/jobs.ts';
import type { Database } from '../../src/db/engine/client.ts';
import type { Opened } from '../../src/service/opened.ts';
import { buildService, type Service } from '../../src/service/service.ts';
import { noBackend } from './no-backend.ts';
import { type TestLog, testVault } from './plain-service.ts';

type Around = {
  readonly now: () => Date;
  readonly log?: TestLog;
  readonly env?: Readonly<Record<string, string>>;
};

/** Changes to jobs have no effect. */
const noQueues: Partial<Service['queues']> = {
  enqueue: async () => undefined,
  ensure: async () => ({ added: 0, woken: 0 }),
  promote: async () => undefined,
  remove: async () => undefined,
  close: async () => undefined,
};

export type RecordedJobs = {
  /** A queue's name for each added job; with `now` for each that runs at once. */
  readonly woken: string[];
  /** The domain and epoch whose jobs were removed: `domainId.epoch`. */
  readonly forgotten: string[];
};

export function recordJobs({ queues }: Service): RecordedJobs {
  const woken: string[] = [];
  const forgotten: string[] = [];
  Object.assign(queues, {
    enqueue: async (queue) => void woken.push(queue),
    promote: async (queue) => void woken.push(`${queue} now`),
    // Removed from every queue.
    remove: async (queue, job) => void (queue === 'check-dns' && forgotten.push(jobId(job))),
  } satisfies Partial<Service['queues']>);
  return { woken, forgotten };
}

export function serviceOn(database: Database, { now, log, env = {} }: Around): Service {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const opened = {
    config: loaded.config,
    database,
    backend: noBackend,
    vault: testVault,
    secrets: deriveSecrets(testVault),
    log: (log ?? pino({ level: 'silent' })) as Opened['log'], // a test's log has the used levels
    now,
  };
  return buildService(opened, { queues: { ...noQueues } as Service['queues'] }); // the used methods
}
