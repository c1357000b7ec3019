/**
 * Batches loads and saves of checks: calls within a few milliseconds share one SELECT and one
 * UPDATE (docs/measured/performance.md has measurements). A save has been committed when its
 * promise resolves.
 */
import { LRUCache } from 'lru-cache';
import type { Observation } from '../../core/diagnosis/observation.ts';
import { areEqual } from '../../core/life/events.ts';
import type { Database } from '../engine/client.ts';
import {
  createRunStatement,
  gather,
  type RunStatement,
  type Statement,
} from '../engine/statements.ts';
import { isLostRace, isRowRefused } from '../engine/unavailable.ts';
import { type LoadedDomain, toLoadedDomain } from './domain-row.ts';
import { type CheckSave, type MoveResult, moveDomain } from './transitions.ts';

/** Concurrent calls share a statement; each has its own result. */
export type CheckStore = {
  /** The domain's current state; undefined if it does not exist or was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /**
   * `stale`: another save came first and nothing changed. `held_elsewhere`: only for a transition
   * to `verified`.
   */
  save(check: CheckSave): Promise<MoveResult>;
};

/** A refused row fails only its own call; a batch that lost a race is retried. */
const batches = {
  itemsMax: 500,
  concurrency: 2,
  mayBeOneItem: isRowRefused,
  isWorthRetry: isLostRace,
} as const;

/**
 * Some 4 KB each. More domains than one process checks in the quarter hour for which a full check
 * is valid.
 */
const HELD_MAX = 10_000;

/** The last full check of a domain, and the row's version. */
type Held = { readonly version: string; readonly observation: Observation | null };

/**
 * Caches the observations of up to HELD_MAX domains; each is used only while it equals the stored
 * one.
 */
export function createCheckStore(database: Pick<Database, 'prisma' | 'pool'>): CheckStore {
  const run = createRunStatement(database);
  const held = new LRUCache<string, Held>({ max: HELD_MAX });
  const load = gather((ids: readonly string[]) => loadAll(run, held, ids), batches);
  const saver = (statement: Statement, parameters: ToParameters) =>
    gather((rows: readonly CheckRow[]) => saveAll(run, statement, parameters, rows), batches);
  const savers = {
    unchanged: saver(saveUnchanged, inColumns),
    changed: saver(saveChanged, (rows) => [JSON.stringify(rows)]),
  };
  return {
    load,
    async save(check) {
      if (check.outcome.kind === 'moved') return moveDomain(database.prisma, check);
      const changes = changesOf(check);
      const saved = await savers[changes === null ? 'unchanged' : 'changed']({
        ...toRow(check),
        ...changes,
      });
      return saved ? { kind: 'saved', epoch: check.domain.epoch } : { kind: 'stale' };
    },
  };
}

/** Takes an observation from the cache if the row still has its version. */
async function loadAll(
  run: RunStatement,
  held: LRUCache<string, Held>,
  ids: readonly string[],
): Promise<readonly (LoadedDomain | undefined)[]> {
  const known = new Map(ids.map((id) => [id, held.get(id)]));
  const versions = [...known.values()].map((one) => one?.version ?? null);
  const rows = await run<{ version: string | null; domain: string }>(loadDomains, [
    [...known.keys()],
    versions,
  ]);
  const loaded = rows.map(({ version, domain: json }) => {
    const row = JSON.parse(json);
    const before = known.get(row.id);
    const isHeld = before !== undefined && before.version === version;
    if (isHeld) row.observation = before.observation;
    const domain = toLoadedDomain(withTimes(row));
    if (!isHeld && version !== null) {
      held.set(domain.id, { version, observation: domain.observation });
    }
    return domain;
  });
  const byId = new Map(loaded.map((domain) => [domain.id, domain]));
  return ids.map((id) => byId.get(id));
}

/** Fields with times. */
const times = [
  ...['pendingSince', 'verifiedAt', 'missedAt', 'driftedAt', 'failedAt'],
  ...[
    'lastCheckedAt',
    'nextCheckAt',
    'recheckAt',
    'escalateAt',
    'certificateEndsAt',
    'watchedUntil',
  ],
];

type Row = Parameters<typeof toLoadedDomain>[0];

/** Parses the times of a row from `loadDomains`, where they are text. */
function withTimes(row: Row & Record<string, unknown>): Row {
  const columns: Record<string, unknown> = row;
  for (const name of times) {
    const time = columns[name];
    if (typeof time === 'string') columns[name] = new Date(time);
  }
  return row;
}

/** The columns that every save writes, under the names in the statements. */
type CheckRow = {
  readonly id: string;
  readonly epoch: number;
  readonly version: number;
  readonly status: string;
  readonly missed_at: string | null;
  readonly at: string;
  readonly next_check_at: string | null;
  readonly recheck_at: string | null;
};
type ToParameters = (rows: readonly CheckRow[]) => readonly unknown[];

/** Returns which checks were saved, in their order. One statement, so one transaction. */
async function saveAll(
  run: RunStatement,
  statement: Statement,
  parameters: ToParameters,
  rows: readonly CheckRow[],
): Promise<readonly boolean[]> {
  // If a job is twice in a batch, its first check counts and the second is stale, as in separate
  // batches.
  const first = new Map(rows.toReversed().map((row) => [row.id, row]));
  const saved = await run<{ id: string }>(statement, parameters([...first.values()]));
  const held = new Set(saved.map(({ id }) => id));
  return rows.map((row) => first.get(row.id) === row && held.has(row.id));
}

function toRow({ domain: { id, epoch, version }, outcome, at }: CheckSave): CheckRow {
  const { to, nextCheckAt, recheckAt } = outcome;
  return {
    id,
    epoch,
    version,
    status: to.status,
    missed_at: to.status === 'live' ? text(to.missedAt) : null,
    at: at.toISOString(),
    next_check_at: text(nextCheckAt),
    recheck_at: text(recheckAt),
  };
}

/** The parameters of `saveUnchanged`, in order. */
function inColumns(rows: readonly CheckRow[]): readonly unknown[] {
  const column = <Name extends keyof CheckRow>(name: Name) => rows.map((row) => row[name]);
  return [
    ...[column('id'), column('epoch'), column('version'), column('status')],
    ...[column('missed_at'), column('at'), column('next_check_at'), column('recheck_at')],
  ];
}

/** Most checks find what the previous one found; then the stored findings and observation stay. */
function changesOf({ domain, observed, outcome }: CheckSave): object | null {
  const changed = outcome.events.find((event) => event.type === 'domain.findings_changed');
  const changes = {
    ...(observed.kind === 'observed' && { observation: observed.observation }),
    ...(!areEqual(outcome.findings, domain.findings) && { findings: outcome.findings }),
    ...(changed && { changed: { appeared: changed.appeared, cleared: changed.cleared } }),
  };
  return Object.keys(changes).length === 0 ? null : changes;
}

function text(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/**
 * $1: ids; $2: for each, the cached observation's version, or null. The version is PostgreSQL's
 * xmin, the transaction that wrote the row, so equal versions mean equal observations.
 */
const loadDomains: Statement = {
  name: 'checks_load',
  text: `
    SELECT observation.xmin::text AS version, row_to_json(found)::text AS domain
    FROM unnest($1::uuid[], $2::xid[]) AS asked (id, held)
    JOIN domain ON domain.id = asked.id AND removed_at IS NULL
    LEFT JOIN observation ON observation.domain_id = domain.id
    CROSS JOIN LATERAL (
      SELECT domain.id, project_id AS "projectId", hostname, target, status, epoch, version, attempts, findings,
        pending_since AS "pendingSince", verified_at AS "verifiedAt", missed_at AS "missedAt",
        drifted_at AS "driftedAt", failed_at AS "failedAt", last_checked_at AS "lastCheckedAt",
        next_check_at AS "nextCheckAt", recheck_at AS "recheckAt", escalate_at AS "escalateAt",
        certificate_ends_at AS "certificateEndsAt", watched_until AS "watchedUntil",
        CASE WHEN observation.xmin = asked.held THEN NULL ELSE observation.value END AS observation
    ) AS found`,
};

/**
 * Checks without changes, the usual case: takes parallel arrays, returns the ids that were saved.
 */
const saveUnchanged: Statement = {
  name: 'checks_save_unchanged',
  text: `
    WITH locked AS (
      SELECT id FROM domain WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE)
    UPDATE domain SET version = domain.version + 1, attempts = domain.attempts + 1, missed_at = saved_check.missed_at, leases = 0,
      last_checked_at = saved_check.at, next_check_at = saved_check.next_check_at, recheck_at = saved_check.recheck_at
    FROM locked JOIN unnest($1::uuid[], $2::int[], $3::int[], $4::domain_status[], $5::timestamptz[], $6::timestamptz[],
      $7::timestamptz[], $8::timestamptz[])
      AS saved_check (id, epoch, version, status, missed_at, at, next_check_at, recheck_at) USING (id)
    WHERE domain.id = locked.id AND domain.epoch = saved_check.epoch AND domain.version = saved_check.version
      AND domain.status = saved_check.status AND domain.removed_at IS NULL
    RETURNING domain.id::text`,
};

/** $1: a JSON array of checks; findings, observation and event are present if changed. */
const saveChanged: Statement = {
  name: 'checks_save_changed',
  text: `
    WITH saved_check AS (
      SELECT * FROM jsonb_to_recordset($1::jsonb) AS saved_check (
        id uuid, epoch int, version int, status domain_status, missed_at timestamptz, at timestamptz,
        next_check_at timestamptz, recheck_at timestamptz, findings jsonb, observation jsonb, changed jsonb)
    ), locked AS (
      SELECT id FROM domain WHERE id IN (SELECT id FROM saved_check) ORDER BY id FOR NO KEY UPDATE
    ), saved AS (
      UPDATE domain SET version = domain.version + 1, attempts = domain.attempts + 1, missed_at = saved_check.missed_at, leases = 0,
        findings = COALESCE(saved_check.findings, domain.findings),
        last_checked_at = saved_check.at, next_check_at = saved_check.next_check_at, recheck_at = saved_check.recheck_at
      FROM locked JOIN saved_check USING (id)
      WHERE domain.id = locked.id AND domain.epoch = saved_check.epoch AND domain.version = saved_check.version
        AND domain.status = saved_check.status AND domain.removed_at IS NULL
      RETURNING domain.id
    ), seen AS (
      INSERT INTO observation (domain_id, value)
      SELECT saved_check.id, saved_check.observation FROM saved_check JOIN saved USING (id) WHERE saved_check.observation IS NOT NULL
      ON CONFLICT (domain_id) DO UPDATE SET value = EXCLUDED.value
    ), recorded AS (
      SELECT record_events(jsonb_agg(jsonb_build_object(
        'domain_id', saved_check.id, 'type', 'domain.findings_changed', 'data', saved_check.changed, 'at', saved_check.at)))::text
      FROM saved_check JOIN saved USING (id) WHERE saved_check.changed IS NOT NULL HAVING count(*) > 0
    )
    SELECT id::text, (SELECT count(*) FROM recorded)::text AS recorded FROM saved`,
};
