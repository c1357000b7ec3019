/** A service on a test's own database. It has no queues and sends nothing to other hosts. */
import { pino } from 'pino';
import { deriveSecrets } from '../../src/certificates/vault/derived-secrets.ts';
import { loadConfig, type Storage } from '../../src/config/config.ts';
import { jobId } from '../../src/core/operations/jobs.ts';
import type { Database } from '../../src/db/engine/client.ts';
import type { Observer } from '../../src/dns/observe/observe.ts';
import type { Opened } from '../../src/service/opened.ts';
import { buildService, type Service } from '../../src/service/service.ts';
import { noBackend } from './no-backend.ts';
import { type TestLog, testVault } from './plain-service.ts';

type Given = {
  readonly now: () => Date;
  /** Of the database. By default it is a server without Redis. */
  readonly storage?: Storage;
  readonly log?: TestLog;
  readonly env?: Readonly<Record<string, string>>;
};

const server: Storage = { kind: 'postgres', databaseUrl: 'postgres://unused' };
const refuse = () => Promise.reject(new Error('this test sends nothing to other hosts'));
const observer: Observer = {
  observe: refuse,
  observeAgain: refuse,
  lookupAddresses: refuse,
  lookupTexts: refuse,
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

export function serviceOn(
  database: Database,
  { now, log, env = {}, storage = server }: Given,
): Service {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const opened = {
    config: { ...loaded.config, storage },
    database,
    backend: noBackend,
    vault: testVault,
    secrets: deriveSecrets(testVault),
    log: (log ?? pino({ level: 'silent' })) as Opened['log'], // a test's log has the used levels
    now,
  };
  return buildService(opened, {
    queues: { ...noQueues } as Service['queues'], // the used methods
    observer: { ...observer },
    send: refuse,
    checkUpstream: refuse,
    examineReach: refuse,
  });
}
