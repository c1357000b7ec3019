import type { z } from 'zod';
import { parseHostname } from '../../core/names/hostname.ts';
import { shortList } from '../../core/names/printable.ts';
import type { SettingsUse } from '../../core/names/redirects.ts';
import type { Plan } from '../../core/records.ts';
import { HOUR } from '../../core/time.ts';
import type { DomainDetails } from '../../db/domains/domain-details.ts';
import type { DomainStore } from '../../db/domains/domains.ts';
import type { ProjectStore } from '../../db/projects.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse, refuseField, refuseFields } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { removalQuery } from '../schemas/domain-settings.ts';
import { domain, domainChange, newDomain } from '../schemas/domains.ts';
import { docsDomain } from '../schemas/examples.ts';
import { tooManyKeys } from '../schemas/metadata.ts';
import { domainView } from './domain-view.ts';
import { findProject } from './projects.ts';
import { verifyNow } from './verify-now.ts';

/** `wake`, `orderNow` and `forget` never reject: the reconciler repairs jobs after an outage. */
export type DomainRoutesDeps = {
  readonly projects: ProjectStore;
  readonly domains: DomainStore;
  /** Host names at or below it are refused. */
  readonly platformDomain: string;
  /** The verification window. */
  readonly windowMs: number;
  /** How many can be added to a project. */
  readonly domainsPerHour: number;
  targetFor(projectId: string, hostname: string): string;
  wake(domain: DomainDetails, requestId: string): Promise<void>;
  orderNow(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  /** Closes the connections that this process's edge serves under the name. */
  dropTraffic(hostname: string): void;
  /** Removes the jobs of an ended epoch. Jobs already running no longer change anything. */
  forget(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  now(): Date;
};

export function domainRoutes(deps: DomainRoutesDeps): readonly Route[] {
  return [addDomain, getDomain, updateDomain, verifyDomain, removeDomain].map((make) => make(deps));
}

const inCommon = { tag: 'Domains', stability: 'stable' } as const;
const domainsPath = '/v1/projects/:projectId/domains';
const domainPath = '/v1/projects/:projectId/domains/:hostname';

/** Checks in the order that the description documents. */
function addDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: domainsPath,
    scope: 'domains:write',
    operationId: 'addDomain',
    summary: 'Add a domain',
    description:
      'Attaches a host name to the project. The response contains the DNS record to create. Signpost checks the DNS for up to 48 hours. Errors are checked in this order: unknown project, invalid name, free plan, no deploy, too many domains, already attached.',
    bodyExample: { hostname: 'docs.example.com', metadata: { site: 'handbook' } },
    success: {
      status: 201,
      description: 'The domain was added',
      schema: domain,
      example: docsDomain,
      headers: { location: 'Path of the domain' },
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
    handle: ({ params, body, requestId }) => add(deps, params.projectId, body, requestId),
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
    description: "The domain's status, its problems, how to fix them and what happens next.",
    success: { status: 200, description: 'The domain', schema: domain, example: docsDomain },
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ params }) =>
      withName(deps, params, async (projectId, hostname) =>
        answer(deps, await deps.domains.find(projectId, hostname), 200),
      ),
  });
}

function updateDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'PATCH',
    path: domainPath,
    scope: 'domains:write',
    operationId: 'updateDomain',
    summary: 'Change a domain',
    description:
      'Changes metadata. Keys that are not given keep their values; null removes a key. To change the host name, add the new one and remove the old one.',
    body: domainChange,
    bodyExample: { metadata: { site: 'handbook' } },
    success: {
      status: 200,
      description: 'The changed domain',
      schema: domain,
      example: docsDomain,
    },
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ params, body: { metadata = {} } }) =>
      withName(deps, params, async (projectId, hostname) => {
        const updated = await deps.domains.updateMetadata(projectId, hostname, metadata);
        return updated === 'too_many_keys'
          ? refuseField('invalid_body', 'metadata', tooManyKeys)
          : answer(deps, updated, 200);
      }),
  });
}

/** A new request replaces a running check, whose result is discarded. */
function verifyDomain(deps: DomainRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: `${domainPath}/verify`,
    scope: 'domains:write',
    operationId: 'verifyDomain',
    summary: 'Verify or re-verify a domain',
    description:
      "Checks the domain at once. On the Free plan, a pending or failed domain is refused. A pending or failed domain starts a new verification window with the same record. A verified domain keeps its status and its order runs at once, within the CA's rate limits. A live or drifted domain keeps its status.",
    success: {
      status: 202,
      description: 'Current state of the domain; the check is in progress',
      schema: domain,
      example: docsDomain,
    },
    refusals: ['project_not_found', 'domain_not_found', 'paid_plan_required'],
    handle: ({ params, requestId }) =>
      withName(deps, params, async (projectId, hostname, plan) => {
        const found = plan === 'free' ? await deps.domains.find(projectId, hostname) : null;
        if (found !== null && isWaiting(found)) return refuse('paid_plan_required');
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
      "Traffic stops before the response, or within a second if the edge runs in other processes. It takes up to 5 seconds if an edge process is unreachable. Also answers 204 if it was removed before; 404 if the project never had it. A primary domain or redirect target is only removed with `orphans=drop`, which removes those settings too. The domain's own redirect is always removed.",
    success: { status: 204, description: 'The domain is not attached to the project' },
    refusals: ['project_not_found', 'domain_not_found', 'domain_in_use'],
    query: removalQuery,
    handle: async ({ params, query, requestId }) => {
      const remove = async (projectId: string, hostname: string): Promise<ApiResponse> => {
        const removed = await deps.domains.remove(projectId, hostname, deps.now(), query.orphans);
        if (removed === null) return refuse('domain_not_found');
        if (removed.kind === 'in_use') return refuse('domain_in_use', inUse(hostname, removed));
        if (removed.kind !== 'removed') return { status: 204 };
        return {
          status: 204,
          afterCommit: async () => {
            deps.dropTraffic(hostname);
            await deps.forget(removed, requestId);
          },
        };
      };
      return withName(deps, params, remove);
    },
  });
}

/** Host names that an error lists; the rest are counted. */
const NAMED_MAX = 5;

function inUse(hostname: string, { primary, redirects }: SettingsUse): string {
  const from = redirects.map((redirect) => redirect.from);
  const uses = [
    ...(primary ? [`${hostname} is the primary domain`] : []),
    ...(from.length > 0
      ? [`${shortList(from, NAMED_MAX)} would redirect to a missing domain`]
      : []),
  ];
  return `${uses.join('; ')}. Change the domain settings first, or remove it with ?orphans=drop to drop those settings too.`;
}

/** Refuses before storing anything. Jobs are added after the commit, or by the reconciler. */
async function add(
  deps: DomainRoutesDeps,
  projectId: string,
  { hostname: typed, metadata }: z.infer<typeof newDomain>,
  requestId: string,
): Promise<ApiResponse> {
  const project = await findProject(deps.projects, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(typed, deps.platformDomain);
  if (!parsed.ok) {
    const error = { field: 'hostname', code: 'invalid', message: parsed.reason } as const;
    return refuseFields(parsed.code, parsed.reason, [error]);
  }
  if (project.plan === 'free') return refuse('paid_plan_required');
  if (project.deployedAt === null) return refuse('deploy_required', needsDeploy(project.id));
  const tooMany = await refuseTooMany(deps, project.id);
  if (tooMany !== null) return tooMany;

  const hostname = parsed.hostname.ascii;
  const target = deps.targetFor(project.id, hostname);
  const wanted = { projectId: project.id, hostname, target, metadata };
  const added = await deps.domains.add(wanted, deps.now());
  if (added === null) {
    const isGone = (await findProject(deps.projects, projectId)) === null;
    return refuse(isGone ? 'project_not_found' : 'domain_exists');
  }
  return {
    ...answer(deps, added, 201),
    headers: { location: `/v1/projects/${project.id}/domains/${hostname}` },
    afterCommit: () => deps.wake(added, requestId),
  };
}

function needsDeploy(projectId: string): string {
  return `The project needs a successful deploy first: POST /v1/projects/${projectId}/deploys with {"status":"succeeded","upstream":"<URL of your app>"}.`;
}

/** Null if another domain can be added now. */
async function refuseTooMany(deps: DomainRoutesDeps, projectId: string): Promise<Refusal | null> {
  const { domainsPerHour } = deps;
  const oldest = await deps.domains.nthNewestAt(projectId, domainsPerHour);
  const waitMs = oldest === null ? 0 : oldest.getTime() + HOUR - deps.now().getTime();
  if (waitMs <= 0) return null;
  const seconds = Math.ceil(waitMs / 1_000);
  return refuse(
    'too_many_domains',
    `The limit is ${domainsPerHour} new domains per project and hour (set by DOMAINS_PER_HOUR). Try again in ${seconds} seconds.`,
    { 'retry-after': String(seconds) },
  );
}

/** 404 if the project does not exist. */
export async function withName(
  deps: Pick<DomainRoutesDeps, 'projects' | 'platformDomain'>,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  act: (projectId: string, hostname: string, plan: Plan) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const project = await findProject(deps.projects, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(hostname, deps.platformDomain);
  return parsed.ok
    ? act(project.id, parsed.hostname.ascii, project.plan)
    : refuse('domain_not_found');
}

/** Not verified since it was added, or not anymore. */
function isWaiting({ status }: DomainDetails): boolean {
  return status === 'pending' || status === 'failed';
}

function answer(deps: DomainRoutesDeps, found: DomainDetails | null, status: number): ApiResponse {
  return found === null
    ? refuse('domain_not_found')
    : { status, body: domainView(found, deps.windowMs, deps.now()) };
}
