/** The escalations of every project, for an operator: which domains get no certificate, why, and what happens next. */
import type { InstallationAccess } from '../../core/accounts/access.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { EscalationQuery, EscalationRow } from '../../db/issuance/escalations.ts';
import { cursorAfterEscalation } from '../pipeline/cursor.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  docsEscalation,
  escalationList,
  escalationQuery,
  projectEscalation,
} from '../schemas/escalations.ts';
import { projectEscalationView } from './escalation-view.ts';

/** What the operations call; each sees every project. */
export type EscalationRoutesDeps = {
  /** At most `limit`, the newest first, those after the given place. */
  list(access: InstallationAccess, query: EscalationQuery): Promise<readonly EscalationRow[]>;
  /** Closes an escalation and returns it. One that is closed already stays as it is; null where there is none. */
  close(access: InstallationAccess, id: string): Promise<EscalationRow | null>;
};

/** Listing escalations, which needs `ops:read`, and closing one, which needs `admin`. */
export function escalationRoutes(deps: EscalationRoutesDeps): readonly Route[] {
  return [listEscalations(deps), closeEscalation(deps)];
}

function listEscalations({ list }: EscalationRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/escalations',
    scope: 'ops:read',
    operators: true,
    operationId: 'listEscalations',
    tag: 'Operations',
    stability: 'beta',
    summary: 'List escalations',
    description:
      'Escalations of every project: domains whose DNS was right and that got no certificate. The newest first, each with its evidence.',
    query: escalationQuery,
    success: {
      status: 200,
      description: 'A page of escalations',
      schema: escalationList,
      example: [docsEscalation],
      headers: { link: 'Where more escalations follow: the next page, as `rel="next"`' },
    },
    handle: ({ key, query: { limit, status = null, cursor = null } }) =>
      page((query) => list(key.access, query), { limit, status, after: cursor }),
  });
}

/** Idempotent: closing it again returns it as it is. */
function closeEscalation({ close }: EscalationRoutesDeps): Route {
  return route({
    audits: 'escalation',
    method: 'POST',
    path: '/v1/escalations/:escalationId/close',
    scope: 'admin',
    operators: true,
    operationId: 'closeEscalation',
    tag: 'Operations',
    stability: 'beta',
    summary: 'Close an escalation',
    description:
      'For an operator who has put its cause right. An escalation closes by itself when the certificate comes; where the cause persists, the next check opens a new one and tries the order again, as far as the certificate authority allows. One that is closed stays as it is.',
    success: {
      status: 200,
      description: 'The escalation, closed',
      schema: projectEscalation,
      example: { ...docsEscalation, nextAction: null, closedAt: '2026-11-20T12:45:00.000Z' },
    },
    refusals: ['escalation_not_found'],
    handle: async ({ key, params: { escalationId } }) => {
      const closed = isUuid(escalationId) ? await close(key.access, escalationId) : null;
      const body = closed && projectEscalationView(closed);
      if (closed === null || body === null) return refuse('escalation_not_found');
      const { projectId } = closed.domain;
      return { status: 200, body, about: { kind: 'escalation', id: closed.id, projectId } };
    },
  });
}

/**
 * A page of the list, with a link to the next one where there is one. An escalation that cannot be worded is left out, so a
 * page may be shorter than `limit`.
 */
async function page(
  list: (query: EscalationQuery) => Promise<readonly EscalationRow[]>,
  { limit, status, after }: EscalationQuery,
): Promise<ApiResponse> {
  // One more than asked for: it says whether there is a next page.
  const rows = await list({ limit: limit + 1, status, after });
  const shown = rows.slice(0, limit);
  const body = shown.flatMap((row) => projectEscalationView(row) ?? []);
  const last = shown.at(-1);
  if (rows.length <= limit || last === undefined) return { status: 200, body };
  // The next page has the same filter and length.
  const target = new URLSearchParams({ limit: String(limit), ...(status && { status }) });
  target.set('cursor', cursorAfterEscalation(last));
  return { status: 200, body, headers: { link: `</v1/escalations?${target}>; rel="next"` } };
}
