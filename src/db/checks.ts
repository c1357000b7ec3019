/**
 * Loads and saves of checks, gathered: what many jobs ask for within a few milliseconds becomes one SELECT
 * and one UPDATE (docs/performance.md has the figures). A save has been committed when its promise resolves.
 */
import type { CheckOutcome } from '../core/check.ts';
import { areEqual } from '../core/findings-changed.ts';
import type { Observation } from '../core/observation.ts';
import { type LoadedDomain, toLoadedDomain } from './domain-row.ts';
import { gather } from './gather.ts';
import type { PrismaClient } from './generated/client.ts';
import { type MoveResult, moveDomain } from './moves.ts';

export type CheckSave = {
  readonly domain: LoadedDomain;
  readonly observation: Observation;
  readonly outcome: CheckOutcome;
  readonly at: Date;
};

export type CheckStore = {
  /** The domain as it stands; undefined where there is none or it was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /** `stale`: somebody else saved since it was loaded, and nothing was changed. */
  save(check: CheckSave): Promise<MoveResult>;
};

const batches = { itemsMax: 500, concurrency: 2 } as const;

export function createCheckStore(prisma: PrismaClient): CheckStore {
  const load = gather((ids: readonly string[]) => loadDomains(prisma, ids), batches);
  const saveStay = gather((checks: readonly CheckSave[]) => saveStays(prisma, checks), batches);
  return {
    load,
    async save(check) {
      if (check.outcome.kind === 'moved') return moveDomain(prisma, check);
      return (await saveStay(check))
        ? { kind: 'saved', epoch: check.domain.epoch }
        : { kind: 'stale' };
    },
  };
}

async function loadDomains(
  prisma: PrismaClient,
  ids: readonly string[],
): Promise<readonly (LoadedDomain | undefined)[]> {
  const rows = await prisma.$queryRaw<Parameters<typeof toLoadedDomain>[0][]>`
    SELECT id, project_id AS "projectId", hostname, target, status::text, epoch, attempts, findings, observation,
           pending_since AS "pendingSince", verified_at AS "verifiedAt", missed_at AS "missedAt",
           next_check_at AS "nextCheckAt", escalate_at AS "escalateAt"
    FROM domain WHERE id = ANY(${ids}::uuid[]) AND removed_at IS NULL`;
  const byId = new Map(rows.map((row) => [row.id, toLoadedDomain(row)]));
  return ids.map((id) => byId.get(id));
}

/** Saves looks that moved nothing; answers which of them held. One statement, so one transaction. */
async function saveStays(
  prisma: PrismaClient,
  checks: readonly CheckSave[],
): Promise<readonly boolean[]> {
  // The same job twice at once: the first look of the batch counts, the second is stale.
  const first = new Map(checks.toReversed().map((check) => [check.domain.id, check]));
  const rows = [...first.values()].map(toRow);
  const saved = await prisma.$queryRaw<{ id: string }[]>`
    WITH look AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS look (
        id uuid, epoch int, attempts int, status text, missed_at timestamptz, findings jsonb,
        observation jsonb, at timestamptz, next_check_at timestamptz, changed jsonb)
    ), saved AS (
      UPDATE domain SET attempts = domain.attempts + 1, missed_at = look.missed_at,
        findings = COALESCE(look.findings, domain.findings),
        observation = COALESCE(look.observation, domain.observation),
        last_checked_at = look.at, next_check_at = look.next_check_at
      FROM look
      WHERE domain.id = look.id AND domain.epoch = look.epoch AND domain.attempts = look.attempts
        AND domain.status::text = look.status AND domain.removed_at IS NULL
      RETURNING domain.id
    ), told AS (
      INSERT INTO event (domain_id, type, data, at)
      SELECT look.id, 'domain.findings_changed', look.changed, look.at
      FROM look JOIN saved USING (id) WHERE look.changed IS NOT NULL
    )
    SELECT id::text FROM saved`;
  const held = new Set(saved.map(({ id }) => id));
  return checks.map((check) => first.get(check.domain.id) === check && held.has(check.domain.id));
}

/** Most looks find what the one before found; then the findings, and the look they rest on, stay as they are stored. */
function toRow({ domain, observation, outcome, at }: CheckSave): Record<string, unknown> {
  const changed = outcome.events.find((event) => event.type === 'domain.findings_changed');
  return {
    id: domain.id,
    epoch: domain.epoch,
    attempts: domain.attempts,
    status: outcome.to.status,
    missed_at: outcome.to.status === 'live' ? outcome.to.missedAt : null,
    at,
    next_check_at: outcome.nextCheckAt,
    // A cheap look that found nothing new gives the very object that was loaded.
    ...(observation !== domain.observation && { observation }),
    ...(!areEqual(outcome.findings, domain.findings) && { findings: outcome.findings }),
    ...(changed && {
      changed: { appeared: changed.appeared, cleared: changed.cleared },
    }),
  };
}
