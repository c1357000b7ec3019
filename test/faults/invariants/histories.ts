import {
  type DomainState,
  type DomainStatus,
  type Occurrence,
  transition,
} from '../../../src/core/life/lifecycle.ts';
import type { World } from '../fault.ts';
import { few, type Invariant } from './invariant.ts';

type EventRow = { domain_id: string; type: string };
type DomainRow = { id: string; hostname: string; status: DomainStatus; removed: boolean };
type Numbers = { id: string; count: string; lowest: string; highest: string; last: string };

export const histories: Invariant = {
  id: 'I3',
  words: 'histories are legal, event numbers have no gap, one webhook-id has one body',
  async check(world) {
    const { system, messages } = world;
    const gaps = await system.sql<Numbers>(
      `SELECT * FROM (
         SELECT project.id, count(event.id) AS count, coalesce(min(number), 1) AS lowest,
           coalesce(max(number), 0) AS highest, last_event_number AS last
         FROM project LEFT JOIN recorded_event AS event ON event.project_id = project.id GROUP BY project.id
       ) AS numbers WHERE lowest <> 1 OR highest <> count OR last <> count`,
    );
    return few([
      ...(await illegal(world)),
      ...gaps.map(({ id, count, lowest, highest, last }) => {
        return `project ${id}: ${count} events from ${lowest} to ${highest}, last ${last}`;
      }),
      ...messages.contradictions,
    ]);
  },
};

/** Domains whose events are illegal, or whose state differs from their last event. */
async function illegal({ system }: World): Promise<string[]> {
  // One statement, so that rows and events are consistent.
  const [read] = await system.sql<{ domains: DomainRow[] | null; events: EventRow[] | null }>(
    `SELECT (SELECT json_agg(json_build_object('id', id, 'hostname', hostname, 'status', status,
         'removed', removed_at IS NOT NULL)) FROM domain) AS domains,
       (SELECT json_agg(json_build_object('domain_id', domain_id, 'type', type) ORDER BY id)
         FROM recorded_event) AS events`,
  );
  const recorded = new Map<string, string[]>();
  for (const { domain_id, type } of read?.events ?? []) {
    const types = recorded.get(domain_id) ?? [];
    types.push(type);
    recorded.set(domain_id, types);
  }
  return (read?.domains ?? []).flatMap((domain) => {
    const problem = problemIn(recorded.get(domain.id) ?? [], domain);
    return problem === null ? [] : [`${domain.hostname}: ${problem}`];
  });
}

function problemIn(types: readonly string[], { status, removed }: DomainRow): string | null {
  let at: DomainStatus | 'removed' | null = null;
  for (const [index, type] of types.entries()) {
    const next = follow(at, type);
    if (next === undefined) {
      return `${type} after ${at} (${types.slice(Math.max(0, index - 4), index + 1).join(', ')})`;
    }
    at = next;
  }
  const should = removed ? 'removed' : status;
  return at === should ? null : `its events lead to ${at}, and it is ${should}`;
}

/** The state after an event; undefined if the event is illegal. */
function follow(
  at: DomainStatus | 'removed' | null,
  type: string,
): DomainStatus | 'removed' | null | undefined {
  if (type === 'domain.added') return at === null || at === 'removed' ? 'pending' : undefined;
  if (at === null || at === 'removed') return undefined;
  if (type === 'domain.removed') return 'removed';
  if (!moves.has(type)) return at;
  return ways.get(`${at} ${type}`);
}

const now = new Date('2030-01-01');
const past = new Date('2020-01-01');
const states: readonly DomainState[] = [
  { status: 'pending', pendingSince: past },
  { status: 'pending', pendingSince: now },
  { status: 'verified', verifiedAt: past },
  { status: 'live', missedAt: null },
  { status: 'live', missedAt: past },
  { status: 'drifted', driftedAt: past },
  { status: 'failed', failedAt: past },
];
const occurrences: readonly Occurrence[] = [
  ...(['right', 'wrong', 'unknown'] as const).map(
    (verdict) => ({ kind: 'checked', verdict, windowMs: 3_600_000, timeScale: 1 }) as const,
  ),
  { kind: 'certificate_stored' },
  { kind: 'certificate_ended' },
  { kind: 'verify_requested' },
  { kind: 'claimed_elsewhere' },
];

/** `<status> <event>` → status, as in src/core/life/lifecycle.ts. */
const ways = new Map<string, DomainStatus>(
  states.flatMap((state) =>
    occurrences.flatMap((occurrence) => {
      const moved = transition(state, occurrence, now);
      if (moved.kind !== 'moved') return [];
      return [[`${state.status} ${moved.event}`, moved.to.status] as const];
    }),
  ),
);
const moves = new Set([...ways.keys()].map((way) => way.split(' ')[1] ?? ''));
