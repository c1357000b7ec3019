/** Attaching a host name to a project. */
import type { Access } from '../../core/accounts/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import type { WithinLimits } from '../../db/account-limits.ts';
import type { DomainDetails, DomainStore } from '../../db/domains/domains.ts';
import type { ProjectStore } from '../../db/projects.ts';
import type { AuditedAnswer } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { domain, newDomain } from '../schemas/domains.ts';
import { docsDomain } from '../schemas/examples.ts';
import { refuseMaking } from './account-limits.ts';
import { domainView } from './domain-view.ts';
import { findProject } from './projects.ts';

/** What adding a domain calls. */
export type AddDomainDeps = {
  readonly projects: ProjectStore;
  readonly domains: DomainStore;
  readonly withinLimits: WithinLimits;
  /** Host names at, below and above it are refused. */
  readonly platformDomain: string;
  /** How long a pending domain is checked for; 48 hours but in laboratories. */
  readonly windowMs: number;
  /** The host name that this project's record for this name must point to. */
  targetFor(projectId: string, hostname: string): string;
  /** What the value of a new claim's TXT record is made of, another one at every call. */
  newClaimNonce(): string;
  /** Makes sure that a domain's jobs exist. Never rejects: the reconciler makes good what a queue that is away has missed. */
  wake(domain: DomainDetails, requestId: string): Promise<void>;
  now(): Date;
};

/** Its refusals are checked in the order that the description publishes. */
export function addDomain(deps: AddDomainDeps): Route {
  return route({
    tag: 'Domains',
    stability: 'beta',
    audits: 'domain',
    method: 'POST',
    path: '/v1/projects/:projectId/domains',
    scope: 'domains:write',
    operationId: 'addDomain',
    summary: 'Add a domain',
    description:
      'Attaches a host name to the project. The answer has the DNS record to create; the DNS is checked until it is right, for 48 hours. Of several refusals the first in this order is given: no such project, a name that does not fit, a free plan, no deploy, too many domains of the account or too many in an hour, attached already.',
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
      'account_not_found',
      'account_limit',
      'too_many_domains',
      'domain_exists',
    ],
    body: newDomain,
    handle: ({ key, params, body, requestId }) =>
      add(deps, {
        access: key.access,
        projectId: params.projectId,
        typed: body.hostname,
        requestId,
      }),
  });
}

type Adding = {
  readonly access: Access;
  readonly projectId: string;
  readonly typed: string;
  readonly requestId: string;
};

/** Refuses before anything is stored. The jobs are made after the commit; the reconciler makes those that are missing. */
async function add(
  deps: AddDomainDeps,
  { access, projectId, typed, requestId }: Adding,
): Promise<AuditedAnswer> {
  const project = await findProject(deps.projects, access, projectId);
  if (project === null) return refuse('project_not_found');
  const parsed = parseHostname(typed, deps.platformDomain);
  if (!parsed.ok) return refuse(parsed.code, parsed.reason);
  if (project.plan === 'free') return refuse('paid_plan_required');
  if (project.deployedAt === null) return refuse('deploy_required', needsDeploy(project.id));

  const hostname = parsed.hostname.ascii;
  const target = deps.targetFor(project.id, hostname);
  const claimNonce = deps.newClaimNonce();
  const claim = { projectId: project.id, hostname, target, claimNonce };
  const at = deps.now();
  const result = await deps.withinLimits(project.accountId, counted, at, () =>
    deps.domains.add(claim, at),
  );
  if (result.kind !== 'made') return refuseMaking(result, at);
  const added = result.made;
  if (added === null) return refuse('domain_exists');
  return {
    status: 201,
    body: domainView(added, deps.windowMs, deps.now()),
    headers: { location: `/v1/projects/${project.id}/domains/${hostname}` },
    afterCommit: () => deps.wake(added, requestId),
    about: { kind: 'domain', id: hostname, projectId: project.id },
  };
}

/** What a domain counts for. */
const counted = ['domains', 'additionsPerHour'] as const;

/** The call to make, ready to be copied. */
function needsDeploy(projectId: string): string {
  return `The project needs a successful deploy first: POST /v1/projects/${projectId}/deploys with {"status":"succeeded","upstream":"<URL of what it serves>"}.`;
}
