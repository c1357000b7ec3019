/**
 * I5: the reconciler has nothing left to do: nothing is overdue, and a full comparison repairs
 * nothing.
 */
import type { World } from '../fault.ts';
import { RECONCILE_MS } from '../system/system.ts';
import { sleep } from '../system/wait.ts';
import type { Invariant } from './invariant.ts';

/**
 * Every third run compares each job with its row, and a second check confirms it
 * (workers/reconcile.ts).
 */
const COMPARISON_MS = 3 * RECONCILE_MS + 2_000;
const TRIES = 5;
/** Work that is due on a busy machine is not a backlog. */
const LATE_SECONDS = 15;

export const reconciler: Invariant = {
  id: 'I5',
  words: 'the reconciler has nothing left to do',
  async check(world) {
    let before = await repaired(world);
    let said: readonly string[] = [];
    for (let tried = 0; tried < TRIES; tried += 1) {
      await sleep(COMPARISON_MS);
      const after = await repaired(world);
      said = [...changes(before, after), ...(await backlog(world))];
      if (said.length === 0) return [];
      before = after;
    }
    return said;
  },
};

async function repaired({ system }: World): Promise<ReadonlyMap<string, string>> {
  const rows = await system.sql<{ kind: string; count: string }>('SELECT kind, count FROM repair');
  return new Map(rows.map(({ kind, count }) => [kind, count]));
}

function changes(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  return [...after].flatMap(([kind, count]) =>
    count === before.get(kind) ? [] : [`${kind}: ${before.get(kind) ?? 0} became ${count}`],
  );
}

async function backlog({ system }: World): Promise<readonly string[]> {
  const [row] = await system.sql<{ domains: string; deliveries: string; quarantined: string }>(
    `SELECT
       (SELECT count(*) FROM domain WHERE removed_at IS NULL AND
         coalesce(recheck_at, next_check_at) < now() - make_interval(secs => ${LATE_SECONDS})
       ) AS domains,
       (SELECT count(*) FROM webhook_delivery WHERE status = 'pending' AND
         coalesce(next_attempt_at, queued_at) < now() - make_interval(secs => ${LATE_SECONDS})
       ) AS deliveries,
       (SELECT count(*) FROM quarantine WHERE until > now() + interval '5 minutes') AS quarantined`,
  );
  const late = [
    { what: 'domains are overdue', count: row?.domains },
    { what: 'deliveries are overdue', count: row?.deliveries },
    { what: 'jobs are quarantined', count: row?.quarantined },
  ];
  return late.flatMap(({ what, count }) => (count === '0' ? [] : [`${count} ${what}`]));
}
