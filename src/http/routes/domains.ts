/** Custom domains of a project: add, show, verify, remove. */

import type { Access, GrantedProjectId } from '../../core/accounts/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { hostnamePart } from '../../core/names/idna.ts';
import { shortList } from '../../core/names/printable.ts';
import type { SettingsUse } from '../../core/names/redirects.ts';
import type { DomainDetails } from '../../db/domains/domains.ts';
import { eventView } from '../../events/event-stream.ts';
import type { ApiResponse, AuditedAnswer } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { asked, linkDocs, pageOf } from '../pipeline/page.ts';
import { type Route, route } from '../pipeline/route.ts';
import { removalQuery } from '../schemas/domain-settings.ts';
import { domain, domainList, domainQuery } from '../schemas/domains.ts';
import { eventList } from '../schemas/events.ts';
import { docsDomain, docsEvents } from '../schemas/examples.ts';
import { type AddDomainDeps, addDomain } from './add-domain.ts';
import { domainView } from './domain-view.ts';
import { findProject } from './projects.ts';
import { verifyNow } from './verify-now.ts';

/** What the operations on domains call. */
export type DomainRoutesDeps = AddDomainDeps & {
  /** Has the order of a verified domain taken up at once. Never rejects. */
  orderNow(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  /** Ends at once what this process's edge is serving under a name. */
  dropTraffic(hostname: string): void;
  /** Drops the jobs of an epoch that has ended; those that run change nothing any more. Never rejects. */
  forget(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
};

/** Events, as the operation's description says. */
const TIMELINE_LENGTH = 200;

/** The six operations on a project's domains. */
export function domainRoutes(deps: DomainRoutesDeps): readonly Route[] {
  return [listDomains, addDomain, getDomain, verifyDomain, removeDomain, getTimeline].map((make) =>
    make(deps),
  );
}

const inCommon = { tag: 'Domains', stability: 'beta' } as const;
const domainsPath = '/v1/projects/:projectId/domains';
const domainPath = '/v1/projects/:projectId/domains/:hostname';

function listDomains(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: domainsPath,
    scope: 'domains:read',
    operationId: 'listDomains',
    summary: "List a project's domains",
    description:
      'The domains of the project, the oldest first; with `status`, those that have it, with `hostname`, those whose name has this in it.',
    query: domainQuery,
    success: {
      status: 200,
      description: 'A page of domains',
      schema: domainList,
      example: [docsDomain],
      headers: linkDocs('domains'),
    },
    refusals: ['project_not_found'],
    handle: async ({ key, params, query }) => {
      const project = await findProject(deps.projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const { status, hostname, limit } = query;
      const part = hostname === undefined ? undefined : hostnamePart(hostname);
      const found = await deps.domains.list(project.id, { status, part, page: asked(query) });
      const placeOf = ({ addedAt, id }: DomainDetails) => ({ at: addedAt, id });
      const path = domainsPath.replace(':projectId', project.id);
      const { rows, headers } = pageOf(found, placeOf, {
        path,
        limit,
        filters: { status, hostname },
      });
      const body = rows.map((row) => domainView(row, deps.windowMs, deps.now()));
      return { status: 200, body, headers };
    },
  });
}

function getDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: domainPath,
    scope: 'domains:read',
    operationId: 'getDomain',
    summary: 'Get one domain',
    description: 'Status, what is wrong, what to do about it and what happens next.',
    success: { status: 200, description: 'The domain', schema: domain, example: docsDomain },
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ key, params }) =>
      withName(deps, key.access, params, async (projectId, hostname) =>
        answer(deps, await deps.domains.find(projectId, hostname), 200),
      ),
  });
}

/** Asking again while a check is under way starts another one; the one before changes nothing any more. */
function verifyDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'domain',
    method: 'POST',
    path: `${domainPath}/verify`,
    scope: 'domains:write',
    operationId: 'verifyDomain',
    summary: 'Verify or re-verify a domain',
    description:
      'Checks the domain at once. A pending or failed one starts a new window with the same record. A verified one keeps its name; its order is taken up at once, as far as the certificate authority allows. A live or drifted one stays as it is.',
    success: {
      status: 202,
      description: 'The domain’s current state; the check is under way',
      schema: domain,
      example: docsDomain,
    },
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ key, params, requestId }) =>
      withName(deps, key.access, params, async (projectId, hostname) => {
        const view = (verified: DomainDetails) => shown(deps, verified, 202);
        return verifyNow(deps, { projectId, hostname, requestId }, view);
      }),
  });
}

function removeDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'domain',
    method: 'DELETE',
    path: domainPath,
    scope: 'domains:write',
    operationId: 'removeDomain',
    summary: 'Remove a domain',
    description:
      'Traffic has stopped when this answers; where the edge is other processes, within a second, and within 5 where one of them is not reached. Also 204 where there is no such domain. A primary domain, and one that others redirect to, is not removed unless `orphans=drop` says that those settings go with it; its own redirect goes in any case.',
    success: { status: 204, description: 'The project does not have the domain' },
    refusals: ['project_not_found', 'domain_in_use'],
    query: removalQuery,
    handle: async ({ key, params, query, requestId }) => {
      const remove = async (
        projectId: GrantedProjectId,
        hostname: string,
      ): Promise<AuditedAnswer> => {
        const about = { kind: 'domain', id: hostname, projectId } as const;
        const removed = await deps.domains.remove(projectId, hostname, deps.now(), query.orphans);
        if (removed === null) return { status: 204, about: null };
        if (removed.kind === 'in_use') return refuse('domain_in_use', inUse(hostname, removed));
        return {
          status: 204,
          about,
          afterCommit: async () => {
            deps.dropTraffic(hostname);
            await deps.forget(removed, requestId);
          },
        };
      };
      // Idempotent: what could never be added is not there either.
      return withName(deps, key.access, params, remove, () => ({ status: 204, about: null }));
    },
  });
}

/** Host names that a refusal lists; the others are counted. */
const NAMED_MAX = 5;

/** What would be left pointing at nothing, and the way out. */
function inUse(hostname: string, { primary, redirects }: SettingsUse): string {
  const from = redirects.map((redirect) => redirect.from);
  const uses = [
    ...(primary ? [`${hostname} is the primary domain`] : []),
    ...(from.length > 0 ? [`${shortList(from, NAMED_MAX)} would redirect to nothing`] : []),
  ];
  return `${uses.join('; ')}. Change the domain settings first, or remove it with ?orphans=drop, which drops them as well.`;
}

function getTimeline(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: `${domainPath}/timeline`,
    scope: 'domains:read',
    operationId: 'getDomainTimeline',
    summary: 'What happened to a domain',
    description: 'The newest 200 events, the newest first; also of a domain that was removed.',
    success: { status: 200, description: 'The events', schema: eventList, example: docsEvents },
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ key, params }) =>
      withName(deps, key.access, params, async (projectId, hostname) => {
        const events = await deps.domains.timeline(projectId, hostname, TIMELINE_LENGTH);
        return events === null
          ? refuse('domain_not_found')
          : { status: 200, body: events.map(eventView) };
      }),
  });
}

/**
 * Runs `act` with the project's id and the host name as stored, however it was spelled in the path; 404 where there is no
 * such project.
 */
async function withName<Answer extends ApiResponse>(
  deps: DomainRoutesDeps,
  access: Access,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  act: (projectId: GrantedProjectId, hostname: string) => Promise<Answer>,
  noSuchName: () => Answer | Refusal = () => refuse('domain_not_found'),
): Promise<Answer | Refusal> {
  const project = await findProject(deps.projects, access, projectId);
  if (project === null) return refuse('project_not_found');
  // What is attached can be seen and removed although it has become a name of the platform since.
  const parsed = parseHostname(hostname, '');
  return parsed.ok ? act(project.id, parsed.hostname.ascii) : noSuchName();
}

function answer(deps: DomainRoutesDeps, found: DomainDetails | null, status: number): ApiResponse {
  return found === null ? refuse('domain_not_found') : shown(deps, found, status);
}

function shown(deps: DomainRoutesDeps, found: DomainDetails, status: number): ApiResponse {
  return { status, body: domainView(found, deps.windowMs, deps.now()) };
}
