/** Projects, to which domains are attached. */
import { fingerprintsOf } from '../../certificates/x509.ts';
import type { Access } from '../../core/access.ts';
import { metadataIn } from '../../core/metadata.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { type Account, DEFAULT_ACCOUNT_ID, type Deploy, type Project } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import type { Service } from '../../service/service.ts';
import { withinLimits } from '../limits/account-limits.ts';
import { cursorAfterPlace } from '../pipeline/cursor.ts';
import { type ApiResponse, type Refusal, refuse, refuseField } from '../pipeline/errors.ts';
import { emptyPage, pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { metadataProblems } from '../schemas/metadata.ts';
import {
  docsProject,
  newProject,
  project,
  projectChange,
  projectList,
  projectQuery,
} from '../schemas/projects.ts';

export function projectRoutes(service: Service): readonly Route[] {
  return [listProjects, createProject, getProject, updateProject].map((make) => make(service));
}

const inCommon = { tag: 'Projects', stability: 'stable' } as const;
const projectsPath = '/v1/projects';
const projectPath = '/v1/projects/:projectId';

function listProjects(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${projectsPath}`,
    scope: 'domains:read',
    operationId: 'listProjects',
    summary: 'List projects',
    description:
      'Lists projects in pages, oldest first. With `hostname`, only projects with this domain; with `metadata[key]=value`, only projects with this value.',
    query: projectQuery,
    success: success(200, 'A page of projects', projectList, [docsProject]),
    handle: async ({ access, query: { limit, cursor = null, hostname, metadata } }) => {
      const named =
        hostname === undefined
          ? undefined
          : parseHostname(hostname, service.config.platform.domain);
      // A name that cannot be added belongs to no project.
      if (named?.ok === false) return emptyPage;
      const filters = { hostname: named?.hostname.ascii, metadata };
      const page = await service.projects.list(access, filters, { after: cursor, limit });
      const rows = await withDeploys(service, access, page.rows);
      return pageAnswer({ ...page, rows }, cursorAfterPlace, projectView);
    },
  });
}

/** 409 if the slug is taken, also if both requests arrive at once. */
function createProject(service: Service): Route {
  return route({
    ...inCommon,
    at: `POST ${projectsPath}`,
    scope: 'projects:write',
    operationId: 'createProject',
    summary: 'Create a project',
    body: newProject,
    bodyExample: { name: 'Docs', slug: 'docs', plan: 'pro', metadata: { customer: '42' } },
    success: success(
      201,
      'The project was created',
      project,
      { ...docsProject, deployedAt: null, deploy: null },
      { location: 'Path of the project' },
    ),
    refusals: [
      'key_restricted',
      'account_not_found',
      'account_closed',
      'limit_reached',
      'slug_taken',
    ],
    handle: async ({ access, body }) => {
      if (access.kind === 'account' && access.projectIds !== null) return refuse('key_restricted');
      const accountId = body.accountId ?? accountIdOf(access);
      const account = await openAccount(service, access, accountId);
      if ('status' in account) return account;
      return withinLimits(service, access, account, ['projects'], async () => {
        const created = await service.projects.create(access, { ...body, accountId });
        if (created === null) {
          const closed = await openAccount(service, access, accountId);
          return 'status' in closed ? closed : refuse('slug_taken');
        }
        const headers = { location: `${projectsPath}/${created.id}` };
        return { status: 201, body: projectView({ ...created, deploy: null }), headers };
      });
    },
  });
}

function getProject(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${projectPath}`,
    scope: 'domains:read',
    operationId: 'getProject',
    summary: 'Get one project',
    success: success(200, 'The project', project, docsProject),
    refusals: ['project_not_found'],
    handle: async ({ access, params }) =>
      answer(service, access, await findProject(service, access, params.projectId)),
  });
}

/** Idempotent. The slug never changes. Only the installation sees another account to move to. */
function updateProject(service: Service): Route {
  return route({
    ...inCommon,
    at: `PATCH ${projectPath}`,
    scope: 'projects:write',
    operationId: 'updateProject',
    summary: 'Change a project',
    description:
      'Changes the name, the plan, metadata or the account. Omitted fields and metadata keys keep their values; null removes a key. On the Free plan, live domains stay live and are renewed, but no domain is added or verified.',
    body: projectChange,
    bodyExample: { plan: 'pro' },
    success: success(200, 'The changed project', project, docsProject),
    refusals: ['project_not_found', 'account_not_found', 'account_closed', 'slug_taken'],
    handle: async ({ access, params, body }) => {
      if (!isUuid(params.projectId)) return refuse('project_not_found');
      const { accountId } = body;
      const account = accountId && (await openAccount(service, access, accountId));
      if (account && 'status' in account) return account;
      const updated = await service.projects.update(access, params.projectId, body);
      // Closed since.
      if (updated === 'account_not_found') return refuse('account_closed');
      if (updated === 'slug_taken') return refuse(updated);
      return typeof updated === 'string'
        ? refuseField('invalid_body', 'metadata', metadataProblems[updated])
        : answer(service, access, updated);
    },
  });
}

function accountIdOf(access: Access): string {
  return access.kind === 'account' ? access.accountId : DEFAULT_ACCOUNT_ID;
}

/** The account, if it is open: projects and keys can be added to it. */
export async function openAccount(
  { accounts }: Pick<Service, 'accounts'>,
  access: Access,
  id: string,
): Promise<Account | Refusal> {
  const found = await accounts.find(access, id);
  if (found === null) return refuse('account_not_found');
  return found.closedAt === null ? found : refuse('account_closed');
}

/** Text that is not a UUID costs no query. */
export async function findProject(
  { projects }: Pick<Service, 'projects'>,
  access: Access,
  id: string,
): Promise<Project | null> {
  return isUuid(id) ? projects.find(access, id) : null;
}

async function answer(
  service: Service,
  access: Access,
  found: Project | null,
): Promise<ApiResponse> {
  if (found === null) return refuse('project_not_found');
  const [shown] = await withDeploys(service, access, [found]);
  return { status: 200, body: shown && projectView(shown) };
}

type DeployedProject = Project & { readonly deploy: Deploy | null };

async function withDeploys(
  { deploys }: Service,
  access: Access,
  projects: readonly Project[],
): Promise<readonly DeployedProject[]> {
  const deployed = projects.filter(({ deployedAt }) => deployedAt !== null);
  const current = await deploys.current(
    access,
    deployed.map(({ id }) => id),
  );
  return projects.map((one) => ({ ...one, deploy: current.get(one.id) ?? null }));
}

function projectView({
  id,
  accountId,
  name,
  slug,
  plan,
  deployedAt,
  deploy,
  metadata,
  createdAt,
}: DeployedProject) {
  return {
    id,
    accountId,
    name,
    slug,
    plan,
    deployedAt,
    deploy: deploy && currentDeployView(deploy),
    metadata: metadataIn(metadata),
    createdAt,
  };
}

function currentDeployView({ id, upstream, upstreamCa, createdAt }: Deploy) {
  return { id, upstream, at: createdAt, upstreamCa: upstreamCa && fingerprintsOf(upstreamCa) };
}
