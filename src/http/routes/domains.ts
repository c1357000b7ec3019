/** Custom domains of a project: add, show, verify, remove. */

import { parseHostname } from '../../core/names/hostname.ts';
import { shortList } from '../../core/names/printable.ts';
import type { SettingsUse } from '../../core/names/redirects.ts';
import { HOUR } from '../../core/time.ts';
import type { DomainDetails, DomainStore } from '../../db/domains/domains.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { eventView } from '../../events/event-stream.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { removalQuery } from '../schemas/domain-settings.ts';
import { domain, domainList, newDomain } from '../schemas/domains.ts';
import { eventList } from '../schemas/events.ts';
import { docsDomain, docsEvents } from '../schemas/examples.ts';
import { domainView } from './domain-view.ts';
import { findProject } from './projects.ts';
import { verifyNow } from './verify-now.ts';

/**
 * What the operations on domains call. `wake`, `orderNow` and `forget` never reject: the reconciler makes good what a queue
 * that is away has missed.
 */
export type DomainRoutesDeps = {
  readonly projects: ProjectStore;
  readonly domains: DomainStore;
  /** Host names at or below it are refused. */
  readonly platformDomain: string;
  /** How long a pending domain is checked for; 48 hours but in laboratories. */
  readonly windowMs: number;
  /** The host name that this project's record for this name must point to. */
  targetFor(projectId: string, hostname: string): string;
  /** Makes sure that a domain's jobs exist. */
  wake(domain: DomainDetails, requestId: string): Promise<void>;
  /** Has the order of a verified domain taken up at once. */
  orderNow(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  /** Ends at once what this process's edge is serving under a name. */
  dropTraffic(hostname: string): void;
  /** Drops the jobs of an epoch that has ended; those that run change nothing any more. */
  forget(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  now(): Date;
};

/** Our choice: more than anybody adds by hand, less than would fill the queues. */
const ADDS_PER_HOUR = 100;
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
    description: 'Every domain of the project, the oldest first.',
    success: {
      status: 200,
      description: 'The domains',
      schema: domainList,
      example: [docsDomain],
    },
    refusals: ['project_not_found'],
    handle: async ({ params }) => {
      const project = await findProject(deps.projects, params.projectId);
      if (project === null) return refuse('project_not_found');
      const rows = await deps.domains.list(project.id);
      return { status: 200, body: rows.map((row) => domainView(row, deps.windowMs, deps.now())) };
    },
  });
}

/** Its refusals are checked in the order that the description publishes. */
function addDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: domainsPath,
    scope: 'domains:write',
    operationId: 'addDomain',
    summary: 'Add a domain',
    description:
      'Attaches a host name to the project. The answer has the DNS record to create; the DNS is checked until it is right, for 48 hours. Of several refusals the first in this order is given: no such project, a name that does not fit, a free plan, no deploy, too many domains, attached already.',
    bodyExample: { hostname: 'docs.example.com' },
    success: {
      status: 201,
      description: 'The domain was added',
      schema: domain,
      example: docsDomain,
      headers: { location: 'The path of the domain' },
    },
    refusals: [
      'project_not_found',
      'invalid_hostname',
      'wildcard_unsupported',
      'platform_hostname',
      'public_suffix',
      'paid_plan_required',
      'deploy_required',
      'too_many_domains',
      'domain_exists',
    ],
    body: newDomain,
    handle: ({ params, body, requestId }) => add(deps, params.projectId, body.hostname, requestId),
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
    handle: ({ params }) =>
      withName(deps, params, async (projectId, hostname) =>
        answer(deps, await deps.domains.find(projectId, hostname), 200),
      ),
  });
}

/** Asking again while a check is under way starts another one; the one before changes nothing any more. */
function verifyDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
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
    handle: ({ params, requestId }) =>
      withName(deps, params, async (projectId, hostname) => {
        const view = (verified: DomainDetails) => answer(deps, verified, 202);
        return verifyNow(deps, { projectId, hostname, requestId }, view);
      }),
  });
}

function removeDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
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
    handle: async ({ params, query, requestId }) => {
      const remove = async (projectId: string, hostname: string): Promise<ApiResponse> => {
        const removed = await deps.domains.remove(projectId, hostname, deps.now(), query.orphans);
        if (removed === null) return { status: 204 };
        if (removed.kind === 'in_use') return refuse('domain_in_use', inUse(hostname, removed));
        return {
          status: 204,
          afterCommit: async () => {
            deps.dropTraffic(hostname);
            await deps.forget(removed, requestId);
          },
        };
      };
      // Idempotent: what could never be added is not there either.
      return withName(deps, params, remove, { status: 204 });
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
    handle: ({ params }) =>
      withName(deps, params, async (projectId, hostname) => {
        const events = await deps.domains.timeline(projectId, hostname, TIMELINE_LENGTH);
        return events === null
          ? refuse('domain_not_found')
          : { status: 200, body: events.map(eventView) };
      }),
  });
}

/** Refuses before anything is stored. The jobs are made after the commit; the reconciler makes those that are missing. */
async function add(
  deps: DomainRoutesDeps,
  projectId: string,
  typed: string,
  requestId: string,
): Promise<ApiResponse> {
  const project = await findProject(deps.projects, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(typed, deps.platformDomain);
  if (!parsed.ok) return refuse(parsed.code, parsed.reason);
  if (project.plan === 'free') return refuse('paid_plan_required');
  if (project.deployedAt === null) return refuse('deploy_required', needsDeploy(project.id));
  const tooMany = await refuseTooMany(deps, project.id);
  if (tooMany !== null) return tooMany;

  const hostname = parsed.hostname.ascii;
  const target = deps.targetFor(project.id, hostname);
  const added = await deps.domains.add({ projectId: project.id, hostname, target }, deps.now());
  if (added === null) return refuse('domain_exists');
  return {
    ...answer(deps, added, 201),
    headers: { location: `/v1/projects/${project.id}/domains/${hostname}` },
    afterCommit: () => deps.wake(added, requestId),
  };
}

/** The call to make, ready to be copied. */
function needsDeploy(projectId: string): string {
  return `The project needs a successful deploy first: POST /v1/projects/${projectId}/deploys with {"status":"succeeded","upstream":"<URL of what it serves>"}.`;
}

/**
 * 429 with the seconds until the oldest of the last ADDS_PER_HOUR additions is an hour old; null where another may be added.
 */
async function refuseTooMany(deps: DomainRoutesDeps, projectId: string): Promise<Refusal | null> {
  const now = deps.now();
  const added = await deps.domains.addedSince(projectId, new Date(now.getTime() - HOUR));
  const oldest = added.at(-ADDS_PER_HOUR);
  if (oldest === undefined) return null;
  const waitMs = oldest.getTime() + HOUR - now.getTime();
  return refuse(
    'too_many_domains',
    `This project added ${ADDS_PER_HOUR} domains within the last hour; that is as many as it may.`,
    { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
  );
}

/**
 * Runs `act` with the project's id and the host name as stored, however it was spelled in the path; 404 where there is no
 * such project.
 */
async function withName(
  deps: DomainRoutesDeps,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  act: (projectId: string, hostname: string) => Promise<ApiResponse>,
  noSuchName: ApiResponse = refuse('domain_not_found'),
): Promise<ApiResponse> {
  const project = await findProject(deps.projects, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(hostname, deps.platformDomain);
  return parsed.ok ? act(project.id, parsed.hostname.ascii) : noSuchName;
}

function answer(deps: DomainRoutesDeps, found: DomainDetails | null, status: number): ApiResponse {
  return found === null
    ? refuse('domain_not_found')
    : { status, body: domainView(found, deps.windowMs, deps.now()) };
}
