/** Escalations of all projects, for operators. */
import { isUuid } from '../../core/operations/jobs.ts';
import type { EscalationQuery, EscalationRow } from '../../db/issuance/escalations.ts';
import { cursorAfterEscalation, nextPage } from '../pipeline/cursor.ts';
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

export type EscalationRoutesDeps = {
  /** At most `limit`, after the given position, newest first. */
  list(query: EscalationQuery): Promise<readonly EscalationRow[]>;
  /** Idempotent. Null for an unknown ID. */
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
      'Lists escalations of all projects, newest first, with their evidence. An escalation is a domain with correct DNS whose certificate could not be issued or renewed.',
    query: escalationQuery,
    success: {
      status: 200,
      description: 'A page of escalations',
      schema: escalationList,
      example: [docsEscalation],
      headers: { link: 'The next page as `rel="next"`, if there is one' },
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
      "Use this after fixing the cause. An escalation closes automatically when the certificate is issued. If the cause persists, the next check opens a new escalation and retries the order, within the CA's rate limits. A closed escalation stays unchanged.",
    success: {
      status: 200,
      description: 'The closed escalation',
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

/** Omits escalations of unknown causes, so a page can be shorter than `limit`. */
async function page(
  list: EscalationRoutesDeps['list'],
  { limit, status, after }: EscalationQuery,
): Promise<ApiResponse> {
  // One more than requested, to know whether there is a next page.
  const rows = await list({ limit: limit + 1, status, after });
  const shown = rows.slice(0, limit);
  const body = shown.flatMap((row) => projectEscalationView(row) ?? []);
  const last = shown.at(-1);
  if (rows.length <= limit || last === undefined) return { status: 200, body };
  const headers = nextPage('/v1/escalations', cursorAfterEscalation(last), { limit, status });
  return { status: 200, body, headers };
}
