/** Projects and their deploys: what has to be there before a domain can be published. */
import { type Access, isRestricted } from '../../core/accounts/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import type { Subject } from '../../core/operations/audit.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Deploy, Plan, Project } from '../../core/records.ts';
import type { WithinLimits } from '../../db/account-limits.ts';
import type { AccountStore } from '../../db/accounts.ts';
import type { GrantedProject, ProjectStore } from '../../db/projects.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { asked, linkDocs, pageOf, placeOfMade } from '../pipeline/page.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  deploy,
  docsDeploy,
  docsProject,
  newDeploy,
  newProject,
  project,
  projectChange,
  projectList,
  projectQuery,
} from '../schemas/projects.ts';
import { refuseMaking } from './account-limits.ts';
import { accountFor } from './accounts.ts';

/** What the operations on projects call. */
export type ProjectRoutesDeps = {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly projects: ProjectStore;
  readonly withinLimits: WithinLimits;
  /** Those that a key of an account may put a project on. */
  readonly accountPlans: readonly Plan[];
  /** Host names at or below it are attached to no project. */
  readonly platformDomain: string;
  /** Why a deploy may not be at an http or https URL, in words that complete `upstream`; null where it may. */
  upstreamProblem(url: URL): string | null;
  now(): Date;
};

/** The operations on projects and their deploys. A project cannot be deleted. */
export function projectRoutes(deps: ProjectRoutesDeps): readonly Route[] {
  return [listProjects, createProject, getProject, updateProject, createDeploy].map((make) =>
    make(deps),
  );
}

const inCommon = { tag: 'Projects', stability: 'beta' } as const;
const projectsPath = '/v1/projects';
const projectPath = '/v1/projects/:projectId';

function listProjects({ projects, platformDomain }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: projectsPath,
    scope: 'domains:read',
    operationId: 'listProjects',
    summary: 'List projects',
    description:
      'The projects that the key reaches, the oldest first; with `hostname`, those that have this domain.',
    query: projectQuery,
    success: {
      status: 200,
      description: 'A page of projects',
      schema: projectList,
      example: [docsProject],
      headers: linkDocs('projects'),
    },
    handle: async ({ key, query }) => {
      const { hostname, limit } = query;
      const named = hostname === undefined ? undefined : parseHostname(hostname, platformDomain);
      // What could never be added, no project has.
      if (named?.ok === false) return { status: 200, body: [] };
      const wanted = { hostname: named?.hostname.ascii, page: asked(query) };
      const found = await projects.list(key.access, wanted);
      const listed = { path: projectsPath, limit, filters: { hostname } };
      const { rows, headers } = pageOf(found, placeOfMade, listed);
      return { status: 200, body: rows.map(toProject), headers };
    },
  });
}

function createProject(deps: ProjectRoutesDeps): Route {
  const { accounts, projects, withinLimits, now } = deps;
  return route({
    ...inCommon,
    audits: 'project',
    method: 'POST',
    path: projectsPath,
    scope: 'domains:write',
    operationId: 'createProject',
    summary: 'Make a project',
    description:
      'Which plans a key of an account may choose is up to the operator; a key of the installation chooses any.',
    body: newProject,
    bodyExample: { name: 'Docs', slug: 'docs', plan: 'pro' },
    success: {
      status: 201,
      description: 'The project was made',
      schema: project,
      example: { ...docsProject, deployedAt: null },
      headers: { location: 'The path of the project' },
    },
    refusals: [
      'account_not_found',
      'restricted_key',
      'installation_only',
      'account_limit',
      'slug_taken',
    ],
    handle: async ({ key, body: { accountId, ...project } }) => {
      if (isRestricted(key.access)) return refuse('restricted_key');
      const account = await accountFor(accounts, key.access, accountId);
      if (typeof account !== 'string') return account;
      const barred = refusePlan(deps, key.access, project.plan);
      if (barred !== null) return barred;
      const at = now();
      const result = await withinLimits(account, ['projects'], at, () =>
        projects.create(account, project),
      );
      if (result.kind !== 'made') return refuseMaking(result, at);
      const created = result.made;
      if (created === null) return refuse('slug_taken');
      const headers = { location: `${projectsPath}/${created.id}` };
      return { status: 201, body: toProject(created), headers, about: subjectOf(created) };
    },
  });
}

function getProject({ projects }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: projectPath,
    scope: 'domains:read',
    operationId: 'getProject',
    summary: 'Get one project',
    success: { status: 200, description: 'The project', schema: project, example: docsProject },
    refusals: ['project_not_found'],
    handle: async ({ key, params }) =>
      answer(await findProject(projects, key.access, params.projectId)),
  });
}

/** Why a key may not put a project on a plan; null where it may. */
function refusePlan(
  { accountPlans }: ProjectRoutesDeps,
  access: Access,
  plan: Plan,
): Refusal | null {
  if (access.kind === 'installation' || accountPlans.includes(plan)) return null;
  const message = `Only a key of the installation can put a project on the plan ${plan}, without Signpost-Account.`;
  return refuse('installation_only', message);
}

/** Idempotent. The slug never changes. */
function updateProject(deps: ProjectRoutesDeps): Route {
  const { projects } = deps;
  return route({
    ...inCommon,
    audits: 'project',
    method: 'PATCH',
    path: projectPath,
    scope: 'domains:write',
    operationId: 'updateProject',
    summary: 'Change a project',
    description:
      'Changes the name, the plan or both; what is left out stays as it is. Which plans a key of an account may choose is up to the operator.',
    body: projectChange,
    bodyExample: { plan: 'pro' },
    success: {
      status: 200,
      description: 'The project as it is now',
      schema: project,
      example: docsProject,
    },
    refusals: ['project_not_found', 'installation_only'],
    handle: async ({ key, params, body }) => {
      const found = await findProject(projects, key.access, params.projectId);
      if (found === null) return refuse('project_not_found');
      const { plan = found.plan } = body;
      // The plan that it has is no change, whoever chose it.
      const barred = plan === found.plan ? null : refusePlan(deps, key.access, plan);
      if (barred !== null) return barred;
      const updated = await projects.update(found.id, body);
      return updated === null
        ? refuse('project_not_found')
        : { status: 200, body: toProject(updated), about: subjectOf(updated) };
    },
  });
}

/** Notes what the caller reports; nothing is fetched from the upstream here. */
function createDeploy({ projects, upstreamProblem, now }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'deploy',
    method: 'POST',
    path: '/v1/projects/:projectId/deploys',
    scope: 'domains:write',
    operationId: 'createDeploy',
    summary: 'Report a deploy',
    description:
      'A deploy that succeeded makes the project publishable, and the edge sends visitors to its `upstream` from then on. The certificate of an https `upstream` is verified: by the public authorities, or by those of `upstreamCa` alone.',
    body: newDeploy,
    bodyExample: { status: docsDeploy.status, upstream: docsDeploy.upstream },
    success: {
      status: 201,
      description: 'The deploy was noted',
      schema: deploy,
      example: docsDeploy,
    },
    refusals: ['project_not_found'],
    handle: async ({ key, params, body }) => {
      const found = await findProject(projects, key.access, params.projectId);
      if (found === null) return refuse('project_not_found');
      const problem = upstreamProblem(new URL(body.upstream));
      if (problem !== null) return refuse('invalid_body', `upstream: ${problem}`);
      const created = await projects.addDeploy(found.id, body, now());
      if (created === null) return refuse('project_not_found');
      const { id, projectId } = created;
      return { status: 201, body: toDeploy(created), about: { kind: 'deploy', id, projectId } };
    },
  });
}

/**
 * The project; null where there is none, where the access does not reach it, and where the text is no project's id. What is
 * no UUID costs no query.
 */
export async function findProject(
  projects: Pick<ProjectStore, 'find'>,
  access: Access,
  id: string,
): Promise<GrantedProject | null> {
  return isUuid(id) ? projects.find(access, id) : null;
}

/** A project as the audit log names it. */
export function subjectOf({ id }: Pick<Project, 'id'>): Subject {
  return { kind: 'project', id, projectId: id };
}

function answer(found: Project | null) {
  return found === null ? refuse('project_not_found') : { status: 200, body: toProject(found) };
}

/** The Project of docs/api.md. */
function toProject({ id, accountId, name, slug, plan, deployedAt }: Project) {
  return { id, accountId, name, slug, plan, deployedAt };
}

/** The Deploy of docs/api.md. */
function toDeploy({ id, projectId, status, upstream, upstreamCa, createdAt }: Deploy) {
  return { id, projectId, status, upstream, upstreamCa, createdAt };
}
