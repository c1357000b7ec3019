/**
 * Loads and saves of checks, gathered: what many jobs ask for within a few milliseconds becomes one SELECT
 * and one UPDATE (docs/performance.md has the figures). A save has been committed when its promise resolves.
 */
import { LRUCache } from 'lru-cache';
import type { Observation } from '../../core/diagnosis/observation.ts';
import type { Change } from '../../core/life/change.ts';
import { areEqual } from '../../core/life/events.ts';
import { formatWatchedServers, watchedServersOf } from '../../core/watch/watched-name.ts';
import type { Database } from '../engine/client.ts';
import {
  createRunStatement,
  gather,
  type RunStatement,
  type Statement,
} from '../engine/statements.ts';
import { isLostRace, isRowRefused } from '../engine/unavailable.ts';
import type { NewEscalation } from '../issuance/escalations.ts';
import { type LoadedDomain, toLoadedDomain } from './domain-row.ts';
import { type MoveResult, moveDomain, type Proven } from './transitions.ts';

/** A check that was made, and what was decided from it. */
export type CheckSave = {
  readonly domain: LoadedDomain;
  readonly observation: Observation;
  readonly outcome: Change;
  readonly at: Date;
  /** What this domain's TXT record has proven. */
  readonly proven?: Proven;
  /** The escalation that a move opens; a check that moves nothing opens none. */
  readonly escalation?: NewEscalation;
};

/** Calls that arrive together share a statement; each has its own result. */
export type CheckStore = {
  /** The domain's current state; undefined where there is none, or it was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /** `stale`: another save came first, and nothing was changed. `proof_needed` comes of a move to `verified` only. */
  save(check: CheckSave): Promise<MoveResult>;
};

/** A refused row fails its own call only, and a batch that lost a race is run once more. */
const batches = {
  itemsMax: 500,
  concurrency: 2,
  mayBeOneItem: isRowRefused,
  isWorthRetry: isLostRace,
} as const;

/** Some 4 KB each. More domains than one process checks within the quarter of an hour for which a full check holds. */
const HELD_MAX = 10_000;

/** The last full check of a domain, and the version of the row that has it. */
type Held = { readonly version: string; readonly observation: Observation | null };

/** Keeps the last observations of up to 10,000 domains in memory; each is used only while the stored one is the same. */
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

/** An observation that is held is taken from memory where the row says that it is still that version. */
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

/** The fields of a row that hold times. */
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

/** Of a row as the statement `loadDomains` writes it, whose times are text. */
function withTimes(row: Row & Record<string, unknown>): Row {
  const columns: Record<string, unknown> = row;
  for (const name of times) {
    const time = columns[name];
    if (typeof time === 'string') columns[name] = new Date(time);
  }
  return row;
}

/** The columns that every save writes, under the names that the statements use. */
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

/** Returns which of the checks were saved, in their order. One statement, so one transaction. */
async function saveAll(
  run: RunStatement,
  statement: Statement,
  parameters: ToParameters,
  rows: readonly CheckRow[],
): Promise<readonly boolean[]> {
  // The same job twice in a batch: its first check counts, the second one is stale, as it would be in a later batch.
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

/** The parameters of `saveUnchanged`, in their order. */
function inColumns(rows: readonly CheckRow[]): readonly unknown[] {
  const column = <Name extends keyof CheckRow>(name: Name) => rows.map((row) => row[name]);
  return [
    ...[column('id'), column('epoch'), column('version'), column('status')],
    ...[column('missed_at'), column('at'), column('next_check_at'), column('recheck_at')],
  ];
}

/** Most checks find what the one before found; then the findings, and the check they rest on, stay as they are stored. */
function changesOf({ domain, observation, outcome }: CheckSave): object | null {
  const changed = outcome.events.find((event) => event.type === 'domain.findings_changed');
  const changes = {
    // A light check that found nothing new gives the very object that was loaded.
    ...(observation !== domain.observation && observationColumns(observation)),
    ...(!areEqual(outcome.findings, domain.findings) && { findings: outcome.findings }),
    // Once in a claim's life.
    ...(outcome.arrival !== domain.arrival && { arrival: outcome.arrival }),
    ...(changed && { changed: { appeared: changed.appeared, cleared: changed.cleared } }),
  };
  return Object.keys(changes).length === 0 ? null : changes;
}

function observationColumns(observation: Observation) {
  return { observation, watched_servers: formatWatchedServers(watchedServersOf(observation)) };
}

function text(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/**
 * $1: ids; $2: for each, the version of its observation that the caller holds, or null. PostgreSQL gives every version of a
 * row the number of the transaction that wrote it (xmin), so equal versions are equal observations, whoever wrote them.
 */
export const loadDomains: Statement = {
  name: 'checks_load',
  text: `
    SELECT observation.xmin::text AS version, row_to_json(found)::text AS domain
    FROM unnest($1::uuid[], $2::xid[]) AS asked (id, held)
    JOIN domain ON domain.id = asked.id AND removed_at IS NULL
    LEFT JOIN observation ON observation.domain_id = domain.id
    CROSS JOIN LATERAL (
      SELECT domain.id, project_id AS "projectId", hostname, target, claim_nonce AS "claimNonce", arrival,
        status, epoch, version, attempts, findings,
        pending_since AS "pendingSince", verified_at AS "verifiedAt", missed_at AS "missedAt",
        drifted_at AS "driftedAt", failed_at AS "failedAt", last_checked_at AS "lastCheckedAt",
        next_check_at AS "nextCheckAt", recheck_at AS "recheckAt", escalate_at AS "escalateAt",
        certificate_ends_at AS "certificateEndsAt", watched_until AS "watchedUntil",
        CASE WHEN status IN ('live', 'drifted') THEN (
          SELECT json_build_object('pending', bool_or(other.removed_at IS NULL AND other.status = 'pending'),
            'held', bool_or(other.verified_at IS NOT NULL OR other.certificate_ends_at IS NOT NULL))
          FROM domain other WHERE other.hostname = domain.hostname AND other.id <> domain.id HAVING count(*) > 0)
        END AS others,
        CASE WHEN observation.xmin = asked.held THEN NULL ELSE observation.value END AS observation
    ) AS found`,
};

/** Checks that found what the one before found, which most do: parallel arrays, and the ids of those that held come back. */
export const saveUnchanged: Statement = {
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

/** $1: a JSON array of checks; findings, arrival, observation and event are there where they are others than before. */
export const saveChanged: Statement = {
  name: 'checks_save_changed',
  text: `
    WITH saved_check AS (
      SELECT * FROM jsonb_to_recordset($1::jsonb) AS saved_check (
        id uuid, epoch int, version int, status domain_status, missed_at timestamptz, at timestamptz,
        next_check_at timestamptz, recheck_at timestamptz, findings jsonb, arrival text, observation jsonb, watched_servers text,
        changed jsonb)
    ), locked AS (
      SELECT id FROM domain WHERE id IN (SELECT id FROM saved_check) ORDER BY id FOR NO KEY UPDATE
    ), saved AS (
      UPDATE domain SET version = domain.version + 1, attempts = domain.attempts + 1, missed_at = saved_check.missed_at, leases = 0,
        findings = COALESCE(saved_check.findings, domain.findings), arrival = COALESCE(saved_check.arrival, domain.arrival),
        last_checked_at = saved_check.at, next_check_at = saved_check.next_check_at, recheck_at = saved_check.recheck_at
      FROM locked JOIN saved_check USING (id)
      WHERE domain.id = locked.id AND domain.epoch = saved_check.epoch AND domain.version = saved_check.version
        AND domain.status = saved_check.status AND domain.removed_at IS NULL
      RETURNING domain.id
    ), seen AS (
      INSERT INTO observation (domain_id, value, watched_servers)
      SELECT saved_check.id, saved_check.observation, saved_check.watched_servers
      FROM saved_check JOIN saved USING (id) WHERE saved_check.observation IS NOT NULL
      ON CONFLICT (domain_id) DO UPDATE SET value = EXCLUDED.value, watched_servers = EXCLUDED.watched_servers
    ), recorded AS (
      SELECT record_events(jsonb_agg(jsonb_build_object(
        'domain_id', saved_check.id, 'type', 'domain.findings_changed', 'data', saved_check.changed, 'at', saved_check.at)))::text
      FROM saved_check JOIN saved USING (id) WHERE saved_check.changed IS NOT NULL HAVING count(*) > 0
    )
    SELECT id::text, (SELECT count(*) FROM recorded)::text AS recorded FROM saved`,
};
