/** Domains of a project or of the installation, and a domain's events. */
import type { z } from 'zod';
import type { Access } from '../../core/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { partOfName } from '../../core/names/idna.ts';
import { isUuid } from '../../core/uuid.ts';
import type { DomainFilters } from '../../db/domains/domain-list.ts';
import { eventView } from '../../events/event-stream.ts';
import type { Service } from '../../service/service.ts';
import { cursorAfter, cursorAfterPlace } from '../pipeline/cursor.ts';
import { type ListAnswer, refuse } from '../pipeline/errors.ts';
import { emptyPage, pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { allDomainsQuery, domain, domainList, domainsQuery } from '../schemas/domains.ts';
import { eventList, timelineQuery } from '../schemas/events.ts';
import { docsDomain, docsEvents } from '../schemas/examples.ts';
import { domainView } from './domain-view.ts';
import { withName } from './domains.ts';
import { findProject } from './projects.ts';

export function domainListRoutes(service: Service): readonly Route[] {
  return [listDomains, listAllDomains, getDomainById, getTimeline].map((make) => make(service));
}

const inCommon = { tag: 'Domains', stability: 'stable' } as const;
const filterWords =
  'Filters: `status`, `search` (part of the name) and `metadata[key]=value`; a domain must match all of them.';

function listDomains(service: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/projects/:projectId/domains',
    scope: 'domains:read',
    operationId: 'listDomains',
    summary: "List a project's domains",
    description: `Lists domains in pages, in the order in which they were added. ${filterWords}`,
    query: domainsQuery,
    success: success(200, 'A page of domains', domainList, [docsDomain]),
    refusals: ['project_not_found'],
    handle: async ({ access, params, query }) => {
      const project = await findProject(service, access, params.projectId);
      if (project === null) return refuse('project_not_found');
      return list(service, access, query, { projectId: project.id, hostname: undefined });
    },
  });
}

function listAllDomains(service: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/domains',
    scope: 'domains:read',
    operationId: 'listAllDomains',
    summary: 'List domains of all projects',
    description: `Lists domains in pages, in the order in which they were added. Several projects can have the same host name; at most one of them has it verified. ${filterWords} With \`hostname\`, only domains with exactly this name.`,
    query: allDomainsQuery,
    success: success(200, 'A page of domains', domainList, [docsDomain]),
    handle: async ({ access, query: { hostname, ...query } }) => {
      const whole = { projectId: undefined, hostname };
      if (hostname === undefined) return list(service, access, query, whole);
      const named = parseHostname(hostname, service.config.platform.domain);
      // A name that cannot be added belongs to no project.
      if (!named.ok) return emptyPage;
      return list(service, access, query, { ...whole, hostname: named.hostname.ascii });
    },
  });
}

function getDomainById(service: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/domains/:domainId',
    scope: 'domains:read',
    operationId: 'getDomainById',
    summary: 'Get a domain by its ID',
    description: 'The same as by host name. A removed domain is not found.',
    success: success(200, 'The domain', domain, docsDomain),
    refusals: ['domain_not_found'],
    handle: async ({ access, params: { domainId } }) => {
      const found = isUuid(domainId) ? await service.domains.findById(access, domainId) : null;
      if (found === null) return refuse('domain_not_found', 'There is no domain with this ID.');
      return { status: 200, body: domainView(found, service.config.verifyWindowMs, service.now()) };
    },
  });
}

async function list(
  service: Service,
  access: Access,
  { limit, cursor, status, search, metadata }: z.infer<typeof domainsQuery>,
  where: Pick<DomainFilters, 'projectId' | 'hostname'>,
): Promise<ListAnswer> {
  const part = search && partOfName(search);
  const filters = { ...where, status, search: part, metadata };
  const page = await service.domains.list(access, filters, { after: cursor ?? null, limit });
  const now = service.now();
  return pageAnswer(page, cursorAfterPlace, (row) =>
    domainView(row, service.config.verifyWindowMs, now),
  );
}

function getTimeline(service: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/projects/:projectId/domains/:hostname/timeline',
    scope: 'domains:read',
    operationId: 'getDomainTimeline',
    summary: "List a domain's events",
    description:
      'Lists events in pages, newest first, including those of removed domains with the host name. Old events are deleted after a period that the operator sets.',
    query: timelineQuery,
    success: success(200, 'A page of events', eventList, docsEvents),
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ access, params, query: { limit, cursor = null } }) =>
      withName(service, access, params, async (projectId, hostname) => {
        const range = { after: cursor, limit };
        const page = await service.domains.timeline(access, projectId, hostname, range);
        if (page === null) return refuse('domain_not_found');
        return pageAnswer(page, cursorAfter, eventView);
      }),
  });
}
