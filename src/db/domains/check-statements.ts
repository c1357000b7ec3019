/**
 * The statements that every check of a domain needs, each for a whole batch of them (src/db/engine/gather.ts). They are prepared, and
 * an observation travels only where the caller does not hold it already. Whoever saves many domains locks them in the order of
 * their ids, or two would wait for each other.
 */
import type { Statement } from '../engine/prepared.ts';

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
      SELECT domain.id, project_id AS "projectId", hostname, target, status, epoch, version, attempts, findings,
        pending_since AS "pendingSince", verified_at AS "verifiedAt", missed_at AS "missedAt",
        drifted_at AS "driftedAt", failed_at AS "failedAt", last_checked_at AS "lastCheckedAt",
        next_check_at AS "nextCheckAt", recheck_at AS "recheckAt", escalate_at AS "escalateAt",
        certificate_ends_at AS "certificateEndsAt", watched_until AS "watchedUntil",
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

/** $1: a JSON array of checks; findings, observation and event are there where they are others than before. */
export const saveChanged: Statement = {
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
