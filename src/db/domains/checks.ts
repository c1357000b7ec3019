/** Concurrent calls share statements. A save is committed when its promise resolves. */
import { LRUCache } from 'lru-cache';
import type { Observation } from '../../core/diagnosis/observation.ts';
import type { Database } from '../engine/client.ts';
import { createRunStatement, gather, type RunStatement } from '../engine/statements.ts';
import { isLostRace, isRowRefused } from '../engine/unavailable.ts';
import {
  loadDomains,
  parseRow,
  type SaveStatement,
  saveEverything,
  savesOnlyTimes,
  saveTimes,
} from './check-statements.ts';
import { type LoadedDomain, toLoadedDomain } from './domain-row.ts';
import { type CheckSave, type MoveResult, moveDomain } from './transitions.ts';

export type CheckStore = {
  /** Undefined if it does not exist or was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /** `stale`: nothing changed. `held_elsewhere` and `plan_required`: only for a transition to `verified`. */
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
  const saver = (statement: SaveStatement) =>
    gather((checks: readonly CheckSave[]) => saveAll(run, statement, checks), batches);
  const savers = { times: saver(saveTimes), everything: saver(saveEverything) };
  return {
    load,
    async save(check) {
      if (check.change.kind === 'moved') return moveDomain(database.prisma, check);
      const saved = await savers[savesOnlyTimes(check) ? 'times' : 'everything'](check);
      return saved ? { kind: 'saved', epoch: check.domain.epoch } : { kind: 'stale' };
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
  statement: SaveStatement,
  checks: readonly CheckSave[],
): Promise<readonly boolean[]> {
  // If a job is twice in a batch, its first check counts and the second is stale, as in separate
  // batches.
  const first = new Map(checks.toReversed().map((check) => [check.domain.id, check]));
  const rows = await run<{ id: string }>(statement, statement.parametersOf([...first.values()]));
  const saved = new Set(rows.map(({ id }) => id));
  return checks.map((check) => first.get(check.domain.id) === check && saved.has(check.domain.id));
}
