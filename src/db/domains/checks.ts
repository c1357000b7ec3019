/** Concurrent calls share statements. A save is committed when its promise resolves. */
import { LRUCache } from 'lru-cache';
import type { Observation } from '../../core/diagnosis/observation.ts';
import type { DomainChange } from '../../core/life/check.ts';
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

export type CheckStore = {
  /** Undefined if it does not exist or was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /** `stale`: nothing changed. `unproven` and `plan_required`: only for a transition to `verified`. */
  save(check: CheckSave): Promise<MoveResult>;
};

/** A refused row fails only its own call; a batch that lost a race is retried. */
const batches = {
  itemsMax: 500,
  concurrency: 2,
  mayBeOneItem: isRowRefused,
  isWorthRetry: isLostRace,
} as const;

/** Some 4 KB each. One process checks fewer domains while a full check is valid. */
const HELD_MAX = 10_000;

type Held = { readonly version: string; readonly observation: Observation | null };

/** A cached observation is used only while it equals the stored one. */
export function createCheckStore(database: Pick<Database, 'prisma' | 'pool'>): CheckStore {
  const run = createRunStatement(database);
  const held = new LRUCache<string, Held>({ max: HELD_MAX });
  const load = gather((ids: readonly string[]) => loadAll(run, held, ids), batches);
  const save = gather((checks: readonly CheckSave[]) => saveAll(run, checks), batches);
  return {
    load,
    async save(check) {
      if (check.change.kind === 'moved') return moveDomain(database.prisma, check);
      return (await save(check)) ? { kind: 'saved', epoch: check.domain.epoch } : { kind: 'stale' };
    },
  };
}

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
    const row = parseRow(json);
    const before = known.get(row.id);
    const isHeld = before !== undefined && before.version === version;
    const observation = isHeld ? before.observation : row.observation;
    const domain = toLoadedDomain({ ...row, observation });
    if (!isHeld && version !== null) {
      held.set(domain.id, { version, observation: domain.observation });
    }
    return domain;
  });
  const byId = new Map(loaded.map((domain) => [domain.id, domain]));
  return ids.map((id) => byId.get(id));
}

/** One statement, so one transaction. */
async function saveAll(
  run: RunStatement,
  checks: readonly CheckSave[],
): Promise<readonly boolean[]> {
  // If a job is twice in a batch, its first check counts and the second is stale, as in separate
  // batches.
  const first = new Map(checks.toReversed().map((check) => [check.domain.id, check]));
  const columns = Object.values(saved).map(({ of }) => [...first.values()].map(of));
  const rows = await run<{ id: string }>(saveChecks, columns);
  const ids = new Set(rows.map(({ id }) => id));
  return checks.map((check) => first.get(check.domain.id) === check && ids.has(check.domain.id));
}

// The columns that checks load and save, and the statements made from them.

type CheckedRow = Parameters<typeof toLoadedDomain>[0];

/** JSON has times as text. */
const loadedTimes = {
  pendingSince: 'pending_since',
  verifiedAt: 'verified_at',
  missedAt: 'missed_at',
  driftedAt: 'drifted_at',
  failedAt: 'failed_at',
  lastCheckedAt: 'last_checked_at',
  nextCheckAt: 'next_check_at',
  recheckAt: 'recheck_at',
  escalateAt: 'escalate_at',
  certificateEndsAt: 'certificate_ends_at',
  watchedUntil: 'watched_until',
} as const;

const loadedColumns = {
  id: 'id',
  projectId: 'project_id',
  hostname: 'hostname',
  target: 'target',
  status: 'status',
  epoch: 'epoch',
  version: 'version',
  attempts: 'attempts',
  findings: 'findings',
  ...loadedTimes,
} satisfies Record<Exclude<keyof CheckedRow, 'observation'>, string>;

/** Of `loadDomains`. */
function parseRow(json: string): CheckedRow {
  const row = JSON.parse(json);
  for (const field of Object.keys(loadedTimes)) {
    if (row[field] !== null) row[field] = new Date(row[field]);
  }
  return row;
}

type SavedColumn = {
  readonly type: 'uuid' | 'int' | 'domain_status' | 'timestamptz' | 'jsonb';
  readonly of: (check: CheckSave) => unknown;
};
type SavedColumns = { readonly [column: string]: SavedColumn };

/** The row must still have these values, so the first of several saves wins. */
const fences: SavedColumns = {
  id: { type: 'uuid', of: ({ domain }) => domain.id },
  epoch: { type: 'int', of: ({ domain }) => domain.epoch },
  version: { type: 'int', of: ({ domain }) => domain.version },
  status: { type: 'domain_status', of: ({ change }) => change.to.status },
};

const written: SavedColumns = {
  missed_at: { type: 'timestamptz', of: ({ change }) => text(missedAt(change)) },
  last_checked_at: { type: 'timestamptz', of: ({ at }) => text(at) },
  next_check_at: { type: 'timestamptz', of: ({ change }) => text(change.nextCheckAt) },
  recheck_at: { type: 'timestamptz', of: ({ change }) => text(change.recheckAt) },
};

/** In JSON. Null: stays as it is, as most checks find what the previous one found. */
const sometimesWritten: SavedColumns = {
  findings: { type: 'jsonb', of: findingsOf },
  observation: { type: 'jsonb', of: observationOf },
  changed: { type: 'jsonb', of: findingsChangedOf },
};

function missedAt({ to }: DomainChange): Date | null {
  return to.status === 'live' ? to.missedAt : null;
}

function findingsOf({ domain, change }: CheckSave) {
  return areEqual(change.findings, domain.findings) ? null : JSON.stringify(change.findings);
}

function observationOf({ observed }: CheckSave) {
  return observed.kind === 'unchanged' ? null : JSON.stringify(observed.observation);
}

/** The only event of a check that changes no status. */
function findingsChangedOf({ change }: CheckSave) {
  const [event, ...others] = change.events;
  if (event === undefined) return null;
  if (event.type !== 'domain.findings_changed' || others.length > 0) {
    throw new Error(`a check that changes no status cannot store ${event.type}`);
  }
  return JSON.stringify({ appeared: event.appeared, cleared: event.cleared });
}

function text(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

const saved: SavedColumns = { ...fences, ...written, ...sometimesWritten };

const isCurrent = [
  'domain.id = locked.id',
  ...Object.keys(fences).map((name) => `domain.${name} = saved_check.${name}`),
  'domain.removed_at IS NULL',
].join(' AND ');

const setWritten = [
  'version = domain.version + 1',
  'attempts = domain.attempts + 1',
  'leases = 0',
  ...Object.keys(written).map((name) => `${name} = saved_check.${name}`),
].join(', ');

/**
 * $1: ids; $2: for each, the cached observation's version. PostgreSQL's xmin is the transaction
 * that wrote the row, so equal versions mean equal observations.
 */
const loadDomains: Statement = {
  name: 'checks_load',
  text: `
    SELECT observation.xmin::text AS version, row_to_json(found)::text AS domain
    FROM unnest($1::uuid[], $2::xid[]) AS asked (id, held)
    JOIN domain ON domain.id = asked.id AND removed_at IS NULL
    LEFT JOIN observation ON observation.domain_id = domain.id
    CROSS JOIN LATERAL (
      SELECT ${Object.entries(loadedColumns)
        .map(([field, column]) => `domain.${column} AS "${field}"`)
        .join(', ')},
        CASE WHEN observation.xmin = asked.held THEN NULL ELSE observation.value END AS observation
    ) AS found`,
};

/** Takes one array per column; returns the ids of the saved checks. */
const saveChecks: Statement = {
  name: 'checks_save',
  text: `
    WITH saved_check AS (
      SELECT * FROM unnest(${Object.values(saved)
        .map(({ type }, nth) => `$${nth + 1}::${type}[]`)
        .join(', ')}) AS saved_check (${Object.keys(saved).join(', ')})
    ), locked AS (
      SELECT id FROM domain WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
    ), saved AS (
      UPDATE domain SET ${setWritten}, findings = COALESCE(saved_check.findings, domain.findings)
      FROM locked JOIN saved_check USING (id)
      WHERE ${isCurrent}
      RETURNING domain.id
    ), observed AS (
      INSERT INTO observation (domain_id, value)
      SELECT id, observation FROM saved_check JOIN saved USING (id) WHERE observation IS NOT NULL
      ON CONFLICT (domain_id) DO UPDATE SET value = EXCLUDED.value
    ), recorded AS (
      SELECT record_events(jsonb_agg(jsonb_build_object('domain_id', id,
        'type', 'domain.findings_changed', 'data', changed, 'at', last_checked_at)))::text
      FROM saved_check JOIN saved USING (id) WHERE changed IS NOT NULL HAVING count(*) > 0
    )
    SELECT id::text, (SELECT count(*) FROM recorded)::text AS recorded FROM saved`,
};
