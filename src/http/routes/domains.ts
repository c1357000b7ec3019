import type { z } from 'zod';
import { type Access, wholeInstallation } from '../../core/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { shortList } from '../../core/names/printable.ts';
import type { SettingsUse } from '../../core/names/redirects.ts';
import type { Plan } from '../../core/records.ts';
import type { DomainDetails } from '../../db/domains/domain-list.ts';
import type { NewDomain } from '../../db/domains/domains.ts';
import type { Service } from '../../service/service.ts';
import { withinLimits } from '../limits/account-limits.ts';
import {
  type ApiResponse,
  type Refusal,
  refuse,
  refuseField,
  refuseFields,
} from '../pipeline/errors.ts';
import { type ApiRequest, type Route, route, success } from '../pipeline/route.ts';
import { removalQuery } from '../schemas/domain-settings.ts';
import { domain, domainChange, newDomain } from '../schemas/domains.ts';
import { docsDomain } from '../schemas/examples.ts';
import { metadataProblems } from '../schemas/metadata.ts';
import { forgetEpoch, runNow, wakeDomain } from './after-commit.ts';
import { domainView } from './domain-view.ts';
import { findProject, openAccount } from './projects.ts';

/** Closes the connections that this process's edge serves under the name. */
export type DropTraffic = (hostname: string) => void;

export function domainRoutes(service: Service, dropTraffic: DropTraffic): readonly Route[] {
  return [
    addDomain(service),
    getDomain(service),
    updateDomain(service),
    verifyDomain(service),
    removeDomain(service, dropTraffic),
  ];
}

const inCommon = { tag: 'Domains', stability: 'stable' } as const;
const domainsPath = '/v1/projects/:projectId/domains';
const domainPath = '/v1/projects/:projectId/domains/:hostname';

/** Checks in the order that the description documents. */
function addDomain(service: Service): Route {
  return route({
    ...inCommon,
    at: `POST ${domainsPath}`,
    scope: 'domains:write',
    operationId: 'addDomain',
    summary: 'Add a domain',
    description:
      'Attaches a host name to the project. The response contains the DNS record to create. Signpost checks the DNS for up to 48 hours. Errors are checked in this order: unknown project, invalid name, free plan, no deploy, limits of the account, already attached.',
    bodyExample: { hostname: 'docs.example.com', metadata: { site: 'handbook' } },
    success: success(201, 'The domain was added', domain, docsDomain, {
      location: 'Path of the domain',
    }),
    refusals: [
      'project_not_found',
      'invalid_hostname',
      'wildcard_unsupported',
      'platform_hostname',
      'public_suffix',
      'paid_plan_required',
      'deploy_required',
      'limit_reached',
      'too_many_domains',
      'domain_exists',
    ],
    body: newDomain,
    handle: (request) => add(service, request),
  });
}

function getDomain(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${domainPath}`,
    scope: 'domains:read',
    operationId: 'getDomain',
    summary: 'Get one domain',
    description: "The domain's status, its problems, how to fix them and what happens next.",
    success: success(200, 'The domain', domain, docsDomain),
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ access, params }) =>
      withName(service, access, params, async (projectId, hostname) =>
        answer(service, await service.domains.find(access, projectId, hostname), 200),
      ),
  });
}

function updateDomain(service: Service): Route {
  return route({
    ...inCommon,
    at: `PATCH ${domainPath}`,
    scope: 'domains:write',
    operationId: 'updateDomain',
    summary: 'Change a domain',
    description:
      'Changes metadata. Keys that are not given keep their values; null removes a key. To change the host name, add the new one and remove the old one.',
    body: domainChange,
    bodyExample: { metadata: { site: 'handbook' } },
    success: success(200, 'The changed domain', domain, docsDomain),
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ access, params, body: { metadata = {} } }) =>
      withName(service, access, params, async (projectId, hostname) => {
        const updated = await service.domains.updateMetadata(access, projectId, hostname, metadata);
        return typeof updated === 'string'
          ? refuseField('invalid_body', 'metadata', metadataProblems[updated])
          : answer(service, updated, 200);
      }),
  });
}

/** A new request replaces a running check, whose result is discarded. */
function verifyDomain(service: Service): Route {
  return route({
    ...inCommon,
    at: `POST ${domainPath}/verify`,
    scope: 'domains:write',
    operationId: 'verifyDomain',
    summary: 'Verify or re-verify a domain',
    description:
      "Checks the domain at once. On the Free plan, a pending or failed domain is refused. A pending or failed domain starts a new verification window with the same record. A verified domain keeps its status and its order runs at once, within the CA's rate limits. A live or drifted domain keeps its status.",
    success: success(
      202,
      'Current state of the domain; the check is in progress',
      domain,
      docsDomain,
    ),
    refusals: ['project_not_found', 'domain_not_found', 'paid_plan_required'],
    handle: ({ access, params, requestId }) =>
      withName(service, access, params, async (projectId, hostname, plan) => {
        const found =
          plan === 'free' ? await service.domains.find(access, projectId, hostname) : null;
        if (found !== null && isWaiting(found)) return refuse('paid_plan_required');
        const view = (verified: DomainDetails) => answer(service, verified, 202);
        return verifyNow(service, { access, projectId, hostname, requestId }, view);
      }),
  });
}

function removeDomain(service: Service, dropTraffic: DropTraffic): Route {
  return route({
    ...inCommon,
    at: `DELETE ${domainPath}`,
    scope: 'domains:write',
    operationId: 'removeDomain',
    summary: 'Remove a domain',
    description:
      "Traffic stops before the response, or within a second if the edge runs in other processes. It takes up to 5 seconds if an edge process is unreachable. Also answers 204 if it was removed before; 404 if the project never had it. A primary domain or redirect target is only removed with `orphans=drop`, which removes those settings too. The domain's own redirect is always removed.",
    success: success(204, 'The domain is not attached to the project'),
    refusals: ['project_not_found', 'domain_not_found', 'domain_in_use'],
    query: removalQuery,
    handle: async ({ access, params, query, requestId }) => {
      const remove = async (projectId: string, hostname: string): Promise<ApiResponse> => {
        const how = { at: service.now(), orphans: query.orphans };
        const removed = await service.domains.remove(access, { projectId, hostname }, how);
        if (removed === null) return refuse('domain_not_found');
        if (removed.kind === 'in_use') return refuse('domain_in_use', inUse(hostname, removed));
        if (removed.kind !== 'removed') return { status: 204 };
        return {
          status: 204,
          afterCommit: async () => {
            dropTraffic(hostname);
            await forgetEpoch(service, removed, requestId);
          },
        };
      };
      return withName(service, access, params, remove);
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

type AddRequest = ApiRequest<z.infer<typeof newDomain>, undefined, { readonly projectId: string }>;

/** Refuses before storing anything. Jobs are added after the commit, or by the reconciler. */
async function add(
  service: Service,
  { access, params: { projectId }, body, requestId }: AddRequest,
): Promise<ApiResponse> {
  const { hostname: typed, metadata } = body;
  const project = await findProject(service, access, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(typed, service.config.platform.domain);
  if (!parsed.ok) {
    const error = { field: 'hostname', code: 'invalid', message: parsed.reason } as const;
    return refuseFields(parsed.code, parsed.reason, [error]);
  }
  if (project.plan === 'free') return refuse('paid_plan_required');
  if (project.deployedAt === null) return refuse('deploy_required', needsDeploy(project.id));

  const hostname = parsed.hostname.ascii;
  const target = service.targetFor(project.id, hostname);
  const wanted = { projectId: project.id, hostname, target, metadata };
  const account = await openAccount(service, wholeInstallation, project.accountId);
  if ('status' in account) return account;
  return withinLimits(service, access, account, ['domains', 'domainsPerHour'], () =>
    store(service, access, wanted, requestId),
  );
}

async function store(
  service: Service,
  access: Access,
  wanted: NewDomain,
  requestId: string,
): Promise<ApiResponse> {
  const { projectId, hostname } = wanted;
  const added = await service.domains.add(access, wanted, service.now());
  if (added === null) {
    const isGone = (await findProject(service, access, projectId)) === null;
    return refuse(isGone ? 'project_not_found' : 'domain_exists');
  }
  return {
    ...answer(service, added, 201),
    headers: { location: `/v1/projects/${projectId}/domains/${hostname}` },
    afterCommit: () => wakeDomain(service, added, requestId),
  };
}

function needsDeploy(projectId: string): string {
  return `The project needs a successful deploy first: POST /v1/projects/${projectId}/deploys with {"status":"succeeded","upstream":"<URL of your app>"}.`;
}

/** 404 if the project does not exist. */
export async function withName<Answer extends ApiResponse>(
  service: Service,
  access: Access,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  act: (projectId: string, hostname: string, plan: Plan) => Promise<Answer>,
): Promise<Answer | Refusal> {
  const project = await findProject(service, access, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(hostname, service.config.platform.domain);
  return parsed.ok
    ? act(project.id, parsed.hostname.ascii, project.plan)
    : refuse('domain_not_found');
}

/** Not verified since it was added, or not anymore. */
function isWaiting({ status }: DomainDetails): boolean {
  return status === 'pending' || status === 'failed';
}

function answer(service: Service, found: DomainDetails | null, status: number): ApiResponse {
  return found === null
    ? refuse('domain_not_found')
    : { status, body: domainView(found, service.config.verifyWindowMs, service.now()) };
}

// Verifies a domain, on behalf of its project or of an operator.

type Verifying = {
  readonly access: Access;
  readonly projectId: string;
  readonly hostname: string;
  readonly requestId: string;
};

/** Moves the jobs forward after the commit. 404 if the project does not have the domain. */
export async function verifyNow(
  service: Service,
  { access, projectId, hostname, requestId }: Verifying,
  view: (domain: DomainDetails) => ApiResponse,
): Promise<ApiResponse> {
  const { domains, now } = service;
  const verify = await domains.requestVerify(access, projectId, hostname, now());
  if (verify === null) return refuse('domain_not_found');
  const { domain: verified, ended } = verify;
  return {
    ...view(verified),
    afterCommit: async () => {
      if (ended !== null) await forgetEpoch(service, ended, requestId);
      await wakeDomain(service, verified, requestId);
      if (verified.status !== 'verified') return;
      const job = { domainId: verified.id, epoch: verified.epoch };
      await runNow(service, 'issue-certificate', job, requestId);
    },
  };
}
