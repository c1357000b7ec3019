/**
 * A service for one history after another: the real stores, routes and workers on a real database.
 * Only the clock, the DNS, the CA and the queue are fake.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { CertificateAuthority } from '../../src/certificates/authorities/authority.ts';
import { deriveSecrets } from '../../src/certificates/vault/derived-secrets.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { loadConfig, type Storage } from '../../src/config/config.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import type { Tx } from '../../src/db/engine/transaction.ts';
import type { Observer } from '../../src/dns/observe/observe.ts';
import type { ApiResponse } from '../../src/http/pipeline/errors.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type ApiRole, routesOf } from '../../src/http/routes/every-route.ts';
import { openQueues } from '../../src/queue/queues.ts';
import { buildService, type Service } from '../../src/service/service.ts';
import { type WorkTimes, workTimes } from '../../workers/running/work-times.ts';
import { noBackend } from '../support/no-backend.ts';
import { freshStorage, type StorageName } from '../support/storage.ts';
import { type AlarmClock, createAlarmClock } from './alarm-clock.ts';
import { guardAll, guardDatabase } from './crash-injector.ts';

type Outside = {
  /** A store has returned a result to a worker. */
  readonly onAnswer: (what: StoreCall, args: readonly unknown[], answer: unknown) => void;
  readonly observe: Observer['observe'];
  readonly lookupTexts: Observer['lookupTexts'];
  readonly advance: CertificateAuthority['advance'];
};

export type StoreCall =
  | 'load'
  | 'save'
  | 'loadWork'
  | 'openOrder'
  | 'store'
  | 'reuse'
  | 'refuse'
  | 'setBack';

export type SystemOptions = {
  readonly storage: StorageName;
  /** Breaks a part on purpose before it is used. */
  readonly sabotage?: (service: Service) => void;
  /** Changes transactions on purpose. */
  readonly sabotageTransactions?: (tx: Tx) => Tx;
};

export type SystemUnderTest = {
  readonly service: Service;
  readonly times: WorkTimes;
  readonly alarms: AlarmClock;
  /** The time of the history, in milliseconds. */
  now(): number;
  takeFaults(): readonly string[];
  setTime(at: number): void;
  /** Sets the database's clock, which few statements use. */
  passTime(): Promise<void>;
  setOutside(outside: Outside): void;
  /** Calls an operation as the API does after authentication; `committed`: the rest to do. */
  call(
    operationId: string,
    params: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<ApiResponse>;
  /** Removes the data of the previous history; returns the new projects. */
  begin(projects: number): Promise<readonly string[]>;
  close(): Promise<void>;
};

export async function openSystem(options: SystemOptions): Promise<SystemUnderTest> {
  const { storage: name, sabotage, sabotageTransactions } = options;
  const fresh = await freshStorage(name);
  const faults: string[] = [];
  const log = pino({ level: 'error' }, { write: (line) => void faults.push(line) });
  const database = await openDatabase(fresh.storage, log);
  const { pool } = database;
  await setUpClock(database, name === 'embedded');
  let at = Date.now();
  let timeSet: number | null = null;
  let begun = 0;
  let outside: Outside | undefined;
  const around = () => {
    if (outside === undefined) throw new Error('no history has started');
    return outside;
  };
  const now = () => new Date(at);
  const vault = createVault(randomBytes(32));
  const opened = {
    config: configFor(fresh.storage),
    database: { ...database, prisma: guardDatabase(database.prisma, sabotageTransactions) },
    backend: noBackend,
    vault,
    secrets: deriveSecrets(vault),
    log,
    now,
  };
  const alarms = createAlarmClock(() => at);
  const service = buildService(opened, {
    // Histories have no visitors.
    handshakes: { probe: async () => [], recordServed: async () => undefined },
    observer: observerOf(around),
    // Nothing happens between the reconciler's two checks, so they can be adjacent.
    pause: async () => undefined,
    queues: Object.assign(
      openQueues(noBackend, async (id) => id),
      alarms.queues,
    ),
    random: () => 0.5,
  });
  sabotage?.(service);
  const [{ authority }] = service.authorities;
  Object.assign(authority, {
    accountUri: async () => null,
    advance: (...asked: Parameters<CertificateAuthority['advance']>) => around().advance(...asked),
  });
  const observeCalls = (part: object, what: StoreCall) =>
    overhear(part, what, (...called) => around().onAnswer(...called));
  for (const what of ['load', 'save'] as const) observeCalls(service.checks, what);
  for (const what of ofCertificates) observeCalls(service.certificates, what);
  const { queues, observer, checks, certificates, quarantine, due } = service;
  const inner = [queues, observer, checks, certificates, quarantine, ...Object.values(due)];
  for (const part of inner) guardAll(part, { inner: true });
  guardAll(authority, { inner: false });
  const routes = new Map(
    routesOf(service, noProcess).map((one): [string, Route] => [one.operationId, one]),
  );
  askLess(service);

  const system: SystemUnderTest = {
    service,
    times: workTimes(service.config),
    alarms,
    now: () => at,
    takeFaults: () => faults.splice(0),
    setTime(to) {
      at = to;
    },
    async passTime() {
      if (timeSet === at) return;
      timeSet = at;
      const text = 'UPDATE model.clock SET at = $1';
      await pool.query({ name: 'tell-time', text, values: [new Date(at)] });
    },
    setOutside(next) {
      outside = next;
    },
    async call(operationId, params, body) {
      const prepared = routes.get(operationId)?.prepare({
        params,
        body,
        query: {},
        headers: {},
        key: null,
        access: wholeInstallation,
        requestId: 'model',
      });
      if (prepared === undefined) throw new Error(`no such operation: ${operationId}`);
      if (!prepared.ok) throw new Error(JSON.stringify(prepared.refusal));
      return prepared.run();
    },
    async begin(count) {
      alarms.empty();
      await system.passTime();
      const ids = Array.from({ length: count }, () => randomUUID());
      begun += 1;
      // Small tables stay quick, and emptying them takes as long as a history.
      await pool.query(begun % 100 === 0 ? 'TRUNCATE public.project CASCADE' : putAway);
      await pool.query({ name: 'new-projects', text: newProjects, values: [ids] });
      return ids;
    },
    async close() {
      await service.close();
      await database.close();
      await fresh.close();
    },
  };
  return system;
}

function observerOf(around: () => Outside): Observer {
  return {
    observe: (...asked) => around().observe(...asked),
    observeAgain: async (check) => ({
      kind: 'observed',
      observation: await around().observe(check),
    }),
    lookupTexts: (...asked) => around().lookupTexts(...asked),
    lookupAddresses: async () => [],
  };
}

/** Histories have no webhooks or poison jobs: the reconciler skips those queries. */
function askLess({ quarantine, waiting }: Service): void {
  const { overdue } = waiting;
  const isNone = (queue: string) => queue === 'deliver-webhook';
  Object.assign(waiting, {
    overdue: async (...asked: Parameters<typeof overdue>) =>
      isNone(asked[0]) ? [] : overdue(...asked),
  });
  Object.assign(quarantine, { dropBefore: async () => undefined });
}

const ofCertificates = ['loadWork', 'openOrder', 'store', 'reuse', 'refuse', 'setBack'] as const;

function overhear(part: object, what: StoreCall, onAnswer: Outside['onAnswer']): void {
  const asked: unknown = Reflect.get(part, what);
  if (typeof asked !== 'function') throw new Error(`there is no ${what}`);
  const passedOn = async (...args: unknown[]) => {
    const answer: unknown = await asked(...args);
    onAnswer(what, args, answer);
    return answer;
  };
  Object.assign(part, { [what]: passedOn });
}

function configFor(storage: Storage) {
  const result = loadConfig({
    ...(storage.kind !== 'embedded' && {
      DATABASE_URL: storage.databaseUrl,
      ACME_DIRECTORY_URL: 'local',
    }),
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    DNS_SERVERS: '127.0.0.1:9',
    LOG_LEVEL: 'error',
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

const notAsked = () => Promise.reject(new Error('unexpected call'));

const noProcess: ApiRole = {
  dropTraffic: () => undefined,
  forget: () => undefined,
  readiness: notAsked,
  openStream: notAsked,
};

/** On new connections, as only those use the new search path. */
async function setUpClock({ openPool, pool }: Database, isEmbedded: boolean): Promise<void> {
  const setUp = openPool({ max: 1, statementTimeoutMs: 0 });
  await setUp.query(modelClock);
  await setUp.end();
  // All connections to the embedded database share one session.
  if (isEmbedded) await pool.query('SET search_path = model, pg_catalog, public');
}

/** The database's `now()` is the history's time: a schema before pg_catalog in the search path. */
const modelClock = `
  CREATE SCHEMA model;
  CREATE TABLE model.clock (at timestamptz NOT NULL);
  INSERT INTO model.clock VALUES (pg_catalog.now());
  CREATE FUNCTION model.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM model.clock';
  DO $$ BEGIN
    EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET search_path = model, pg_catalog, public';
    EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET synchronous_commit = off';
  END $$`;

const putAway = `
  UPDATE public.domain SET removed_at = added_at, next_check_at = NULL, recheck_at = NULL, renew_at = NULL, escalate_at = NULL
    WHERE removed_at IS NULL`;

const newProjects = `
  WITH made AS (
    INSERT INTO public.project (id, name, slug, plan, deployed_at)
    SELECT id, 'P', id::text, 'pro', model.now() FROM unnest($1::uuid[]) AS id RETURNING id
  )
  INSERT INTO public.deploy (id, project_id, status, upstream)
  SELECT gen_random_uuid(), id, 'succeeded', 'http://upstream.test' FROM made`;
