/**
 * The statements that every look at a domain needs, each for a whole batch of them (src/db/engine/gather.ts). They are prepared, and
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
      SELECT domain.id, project_id AS "projectId", hostname, target, status, epoch, attempts, findings,
        pending_since AS "pendingSince", verified_at AS "verifiedAt", missed_at AS "missedAt",
        drifted_at AS "driftedAt", failed_at AS "failedAt", last_checked_at AS "lastCheckedAt",
        next_check_at AS "nextCheckAt", recheck_at AS "recheckAt", escalate_at AS "escalateAt",
        certificate_ends_at AS "certificateEndsAt", watched_until AS "watchedUntil",
        CASE WHEN observation.xmin = asked.held THEN NULL ELSE observation.value END AS observation
    ) AS found`,
};

/** Looks that found what the one before found, which most do: parallel arrays, and the ids of those that held come back. */
export const saveUnchanged: Statement = {
  name: 'checks_save_unchanged',
  text: `
    WITH locked AS (
      SELECT id FROM domain WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE)
    UPDATE domain SET attempts = domain.attempts + 1, missed_at = look.missed_at, leases = 0,
      last_checked_at = look.at, next_check_at = look.next_check_at, recheck_at = look.recheck_at
    FROM locked JOIN unnest($1::uuid[], $2::int[], $3::int[], $4::domain_status[], $5::timestamptz[], $6::timestamptz[],
      $7::timestamptz[], $8::timestamptz[])
      AS look (id, epoch, attempts, status, missed_at, at, next_check_at, recheck_at) USING (id)
    WHERE domain.id = locked.id AND domain.epoch = look.epoch AND domain.attempts = look.attempts
      AND domain.status = look.status AND domain.removed_at IS NULL
    RETURNING domain.id::text`,
};

/** $1: a JSON array of looks; findings, observation and event are there where they are others than before. */
export const saveChanged: Statement = {
  name: 'checks_save_changed',
  text: `
    WITH look AS (
      SELECT * FROM jsonb_to_recordset($1::jsonb) AS look (
        id uuid, epoch int, attempts int, status domain_status, missed_at timestamptz, at timestamptz,
        next_check_at timestamptz, recheck_at timestamptz, findings jsonb, observation jsonb, changed jsonb)
    ), locked AS (
      SELECT id FROM domain WHERE id IN (SELECT id FROM look) ORDER BY id FOR NO KEY UPDATE
    ), saved AS (
      UPDATE domain SET attempts = domain.attempts + 1, missed_at = look.missed_at, leases = 0,
        findings = COALESCE(look.findings, domain.findings),
        last_checked_at = look.at, next_check_at = look.next_check_at, recheck_at = look.recheck_at
      FROM locked JOIN look USING (id)
      WHERE domain.id = locked.id AND domain.epoch = look.epoch AND domain.attempts = look.attempts
        AND domain.status = look.status AND domain.removed_at IS NULL
      RETURNING domain.id
    ), seen AS (
      INSERT INTO observation (domain_id, value)
      SELECT look.id, look.observation FROM look JOIN saved USING (id) WHERE look.observation IS NOT NULL
      ON CONFLICT (domain_id) DO UPDATE SET value = EXCLUDED.value
    ), told AS (
      SELECT record_events(jsonb_agg(jsonb_build_object(
        'domain_id', look.id, 'type', 'domain.findings_changed', 'data', look.changed, 'at', look.at)))::text
      FROM look JOIN saved USING (id) WHERE look.changed IS NOT NULL HAVING count(*) > 0
    )
    SELECT id::text, (SELECT count(*) FROM told)::text AS told FROM saved`,
};
