/**
 * Deletes entries of the audit log that are older than they are kept, and keys of accounts that ended as long ago: no entry
 * names them any more. With the reconciler's turns, in one process at a time;
 * what one turn leaves, the next one takes.
 */
import { AUDIT_KEPT_MS } from '../src/core/operations/audit.ts';
import type { ApiKeyStore } from '../src/db/api-keys.ts';
import type { AuditStore } from '../src/db/audit.ts';
import type { WaitingStore } from '../src/db/domains/waiting.ts';

/** What pruning needs of the process that it runs in. */
export type PruneAuditDeps = {
  readonly audit: Pick<AuditStore, 'prune'>;
  readonly keys: Pick<ApiKeyStore, 'dropEnded'>;
  readonly waiting: Pick<WaitingStore, 'takeTurn'>;
  now(): Date;
};

const PRUNE_EVERY_MS = 60_000;
/** As deliveries are pruned (workers/relay-deliveries.ts): more in a minute than 400 days ago a minute can have brought. */
const PRUNED_AT_ONCE = 5_000;
/** Our choice: a turn takes so many, and the next one the others. */
const KEYS_AT_ONCE = 500;
/** How long a turn prunes at most; nothing is reconciled meanwhile. */
const PRUNING_MS = 1_000;

/** Returns how many entries were deleted. Begins no further batch once `stop` is aborted. Rejects where the database is away. */
export async function pruneAudit(deps: PruneAuditDeps, stop: AbortSignal): Promise<number> {
  const begun = deps.now().getTime();
  if (stop.aborted || !(await deps.waiting.takeTurn('prune-audit', PRUNE_EVERY_MS))) return 0;
  const before = new Date(begun - AUDIT_KEPT_MS);
  let pruned = 0;
  while (!stop.aborted && deps.now().getTime() - begun <= PRUNING_MS) {
    const count = await deps.audit.prune(before, PRUNED_AT_ONCE);
    pruned += count;
    if (count < PRUNED_AT_ONCE) break;
  }
  if (!stop.aborted) await deps.keys.dropEnded(before, KEYS_AT_ONCE);
  return pruned;
}
