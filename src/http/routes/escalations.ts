/** The cases of every project, for an operator: what stands still, why, and what happens next by itself. */
import { isUuid } from '../../core/operations/jobs.ts';
import type { EscalationQuery, EscalationRow } from '../../db/issuance/escalations.ts';
import { cursorAfterEscalation } from '../pipeline/cursor.ts';
import { refuse } from '../pipeline/errors.ts';
import type { ApiResponse } from '../pipeline/response.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  docsEscalation,
  escalationList,
  escalationQuery,
  projectEscalation,
} from '../schemas/escalations.ts';
import { projectEscalationView } from './escalation-view.ts';

export type EscalationRoutesDeps = {
  /** The newest first. */
  list(query: EscalationQuery): Promise<readonly EscalationRow[]>;
  /** One that is closed stays as it is; null where there is none. */
  close(id: string): Promise<EscalationRow | null>;
};

export function escalationRoutes(deps: EscalationRoutesDeps): readonly Route[] {
  return [listEscalations(deps), closeEscalation(deps)];
}

function listEscalations({ list }: EscalationRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/escalations',
    scope: 'ops:read',
    operationId: 'listEscalations',
    tag: 'Operations',
    stability: 'beta',
    summary: 'List escalations',
    description:
      'Escalations of every project: domains whose DNS was right and that got no certificate. The newest first, with what the cause was told by.',
    query: escalationQuery,
    success: {
      status: 200,
      description: 'A page of escalations',
      schema: escalationList,
      example: [docsEscalation],
      headers: { link: 'Where more escalations follow: the next page, as `rel="next"`' },
    },
    handle: ({ query: { limit, status = null, cursor = null } }) =>
      page(list, { limit, status, after: cursor }),
  });
}

function closeEscalation({ close }: EscalationRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/escalations/:escalationId/close',
    scope: 'admin',
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
    handle: async ({ params: { escalationId } }) => {
      const closed = isUuid(escalationId) ? await close(escalationId) : null;
      const body = closed && projectEscalationView(closed);
      return body === null ? refuse('escalation_not_found') : { status: 200, body };
    },
  });
}

async function page(
  list: EscalationRoutesDeps['list'],
  { limit, status, after }: EscalationQuery,
): Promise<ApiResponse> {
  // One more than asked for: it says whether there is a next page.
  const rows = await list({ limit: limit + 1, status, after });
  const shown = rows.slice(0, limit);
  const body = shown.flatMap((row) => projectEscalationView(row) ?? []);
  const last = shown.at(-1);
  if (rows.length <= limit || last === undefined) return { status: 200, body };
  const target = new URLSearchParams({ limit: String(limit), ...(status && { status }) });
  target.set('cursor', cursorAfterEscalation(last));
  return { status: 200, body, headers: { link: `</v1/escalations?${target}>; rel="next"` } };
}
