/** What the comparison reads of a history, in one statement. */
import type { DomainStatus } from '../../src/core/life/lifecycle.ts';

/** A domain row. */
export type Row = {
  readonly id: string;
  readonly project: string;
  readonly hostname: string;
  readonly target: string;
  readonly status: DomainStatus;
  readonly epoch: number;
  /** Epochs of all additions of the name. */
  readonly lives: number;
  readonly attached: boolean;
  readonly codes: readonly string[];
  readonly nextCheckAt: string | null;
  readonly recheckAt: string | null;
  readonly escalateAt: string | null;
  /** When a sweep renews it, if it is live. */
  readonly renewAt: string | null;
  /** When the last of its certificates expires. */
  readonly until: string | null;
  readonly orders: number;
  readonly openOrders: number;
  readonly openCauses: readonly string[];
  /** Of the open escalation. */
  readonly candidate: string | null;
};

export type EventRow = {
  readonly project: string;
  readonly number: number;
  readonly hostname: string;
  readonly type: string;
  readonly data: {
    readonly appeared?: readonly { readonly code: string }[];
    readonly cleared?: readonly { readonly code: string }[];
  };
};

export type Snapshot = { readonly domains: readonly Row[]; readonly events: readonly EventRow[] };

/** One row per name: the newest addition, with what the earlier ones of the same name have counted. */
export function oneRowPerName(rows: readonly Row[]): readonly Row[] {
  const byName = new Map<string, Row>();
  for (const row of rows) {
    const name = `${row.project} ${row.hostname}`;
    const before = byName.get(name);
    byName.set(name, before === undefined ? row : addedAgain(before, row));
  }
  return [...byName.values()];
}

function addedAgain(before: Row, row: Row): Row {
  const ends = [before.until, row.until].filter((end) => end !== null);
  const last = Math.max(...ends.map((end) => Date.parse(end)));
  return {
    ...row,
    lives: before.lives + row.lives,
    until: ends.length === 0 ? null : new Date(last).toISOString(),
    orders: before.orders + row.orders,
    openOrders: before.openOrders + row.openOrders,
    openCauses: [...before.openCauses, ...row.openCauses],
  };
}

/** Everything of some projects, with their events after the given numbers. */
export const snapshotOf = `
  SELECT json_build_object(
    'domains', COALESCE((SELECT json_agg(json_build_object(
      'id', id, 'project', project_id, 'hostname', hostname, 'target', target, 'status', status, 'epoch', epoch, 'lives', epoch,
      'attached', removed_at IS NULL, 'nextCheckAt', next_check_at, 'recheckAt', recheck_at, 'escalateAt', escalate_at,
      'renewAt', renew_at,
      'until', (SELECT max(expires_at) FROM public.certificate WHERE domain_id = domain.id AND status = 'issued'),
      'codes', COALESCE((SELECT json_agg(one ->> 'code') FROM jsonb_array_elements(findings) AS one), '[]'),
      'orders', (SELECT count(*) FROM public.certificate WHERE domain_id = domain.id),
      'openOrders', (SELECT count(*) FROM public.certificate WHERE domain_id = domain.id AND status = 'ordering'),
      'openCauses', COALESCE((SELECT json_agg(cause) FROM public.escalation
        WHERE domain_id = domain.id AND closed_at IS NULL), '[]'),
      'candidate', (SELECT evidence ->> 'candidate' FROM public.escalation
        WHERE domain_id = domain.id AND closed_at IS NULL LIMIT 1)) ORDER BY added_at, removed_at)
      FROM public.domain WHERE project_id = ANY ($1::uuid[])), '[]'),
    'events', COALESCE((SELECT json_agg(json_build_object('project', event.project_id, 'number', event.number,
      'hostname', hostname, 'type', type, 'data', CASE WHEN type = 'domain.findings_changed' THEN data ELSE '{}' END)
      ORDER BY event.id)
      FROM public.event JOIN public.domain ON domain.id = domain_id
      JOIN unnest($1::uuid[], $2::bigint[]) AS seen (project, number)
        ON event.project_id = seen.project AND event.number > seen.number), '[]')) AS snapshot`;
