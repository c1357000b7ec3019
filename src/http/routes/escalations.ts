/** Escalations of all projects, for operators. */
import { asInstallation, type Installation } from '../../core/access.ts';
import { isUuid } from '../../core/uuid.ts';
import {
  closeForOperator,
  type EscalationQuery,
  loadEscalations,
} from '../../db/issuance/escalations.ts';
import type { InstallationOverview } from '../../service/overview.ts';
import type { Service } from '../../service/service.ts';
import { cursorAfterPlace } from '../pipeline/cursor.ts';
import { type ListAnswer, refuse } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import {
  docsEscalation,
  escalationList,
  escalationQuery,
  projectEscalation,
} from '../schemas/escalations.ts';
import { projectEscalationView } from './escalation-view.ts';

export function escalationRoutes(
  service: Service,
  overview: InstallationOverview,
): readonly Route[] {
  return [listEscalations(service), closeEscalation(service, overview)];
}

function listEscalations(service: Service): Route {
  return route({
    at: 'GET /v1/escalations',
    scope: 'ops:read',
    operationId: 'listEscalations',
    tag: 'Operations',
    stability: 'beta',
    summary: 'List escalations',
    description:
      'Lists escalations of all projects, newest first, with their evidence. An escalation is a domain with correct DNS whose certificate could not be issued or renewed.',
    query: escalationQuery,
    success: success(200, 'A page of escalations', escalationList, [docsEscalation]),
    handle: ({ access, query: { limit, status = null, cursor = null } }) =>
      page(service, asInstallation(access), { limit, status, after: cursor }),
  });
}

function closeEscalation(service: Service, overview: InstallationOverview): Route {
  return route({
    at: 'POST /v1/escalations/:escalationId/close',
    scope: 'admin',
    operationId: 'closeEscalation',
    tag: 'Operations',
    stability: 'beta',
    summary: 'Close an escalation',
    description:
      "Use this after fixing the cause. An escalation closes automatically when the certificate is issued. If the cause persists, the next check opens a new escalation and retries the order, within the CA's rate limits. A closed escalation stays unchanged.",
    success: success(200, 'The closed escalation', projectEscalation, {
      ...docsEscalation,
      nextAction: null,
      closedAt: '2026-11-20T12:45:00.000Z',
    }),
    refusals: ['escalation_not_found'],
    handle: async ({ access, params: { escalationId } }) => {
      const { database, now } = service;
      const closed = isUuid(escalationId)
        ? await closeForOperator(database.prisma, asInstallation(access), escalationId, now())
        : null;
      if (closed === null) return refuse('escalation_not_found');
      const body = projectEscalationView(closed);
      const afterCommit = async () => overview.forget();
      // A newer process can have opened it for a cause that this one does not know.
      if (body === null) return { ...refuse('escalation_not_found'), afterCommit };
      return { status: 200, body, afterCommit };
    },
  });
}

/** Omits escalations of unknown causes, so a page can be shorter than `limit`. */
async function page(
  { database }: Service,
  operator: Installation,
  query: EscalationQuery,
): Promise<ListAnswer> {
  const rows = await loadEscalations(database.prisma, operator, query);
  return pageAnswer(rows, cursorAfterPlace, projectEscalationView);
}
