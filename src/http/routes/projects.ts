/** Projects and their deploys: what has to be there before a domain can be published. */
import { parseHostname } from '../../core/names/hostname.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Deploy, Project } from '../../core/records.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { refuse } from '../pipeline/errors.ts';
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

/** What the operations on projects call. */
export type ProjectRoutesDeps = {
  readonly projects: ProjectStore;
  /** Host names at or below it are attached to no project. */
  readonly platformDomain: string;
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

/** All projects in one answer. */
function listProjects({ projects, platformDomain }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: projectsPath,
    scope: 'domains:read',
    operationId: 'listProjects',
    summary: 'List projects',
    description: 'Every project, the oldest first; with `hostname`, those that have this domain.',
    query: projectQuery,
    success: {
      status: 200,
      description: 'The projects',
      schema: projectList,
      example: [docsProject],
    },
    handle: async ({ query: { hostname } }) => {
      const named = hostname === undefined ? undefined : parseHostname(hostname, platformDomain);
      // What could never be added, no project has.
      if (named?.ok === false) return { status: 200, body: [] };
      const found = await projects.list(named?.hostname.ascii);
      return { status: 200, body: found.map(toProject) };
    },
  });
}

/** 409 where another project has the slug, also where both requests come at once. */
function createProject({ projects }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: projectsPath,
    scope: 'domains:write',
    operationId: 'createProject',
    summary: 'Make a project',
    body: newProject,
    bodyExample: { name: 'Docs', slug: 'docs', plan: 'pro' },
    success: {
      status: 201,
      description: 'The project was made',
      schema: project,
      example: { ...docsProject, deployedAt: null },
      headers: { location: 'The path of the project' },
    },
    refusals: ['slug_taken'],
    handle: async ({ body }) => {
      const created = await projects.create(body);
      if (created === null) return refuse('slug_taken');
      const headers = { location: `${projectsPath}/${created.id}` };
      return { status: 201, body: toProject(created), headers };
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
    handle: async ({ params }) => answer(await findProject(projects, params.projectId)),
  });
}

/** Idempotent. The slug never changes. */
function updateProject({ projects }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'PATCH',
    path: projectPath,
    scope: 'domains:write',
    operationId: 'updateProject',
    summary: 'Change a project',
    description: 'Changes the name, the plan or both; what is left out stays as it is.',
    body: projectChange,
    bodyExample: { plan: 'pro' },
    success: {
      status: 200,
      description: 'The project as it is now',
      schema: project,
      example: docsProject,
    },
    refusals: ['project_not_found'],
    handle: async ({ params, body }) => {
      if (!isUuid(params.projectId)) return refuse('project_not_found');
      return answer(await projects.update(params.projectId, body));
    },
  });
}

/** Notes what the caller reports; nothing is fetched from the upstream here. */
function createDeploy({ projects, now }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: '/v1/projects/:projectId/deploys',
    scope: 'domains:write',
    operationId: 'createDeploy',
    summary: 'Report a deploy',
    description:
      'A deploy that succeeded makes the project publishable, and the edge sends visitors to its `upstream` from then on.',
    body: newDeploy,
    bodyExample: { status: docsDeploy.status, upstream: docsDeploy.upstream },
    success: {
      status: 201,
      description: 'The deploy was noted',
      schema: deploy,
      example: docsDeploy,
    },
    refusals: ['project_not_found'],
    handle: async ({ params, body }) => {
      if (!isUuid(params.projectId)) return refuse('project_not_found');
      const created = await projects.addDeploy(params.projectId, body, now());
      return created === null
        ? refuse('project_not_found')
        : { status: 201, body: toDeploy(created) };
    },
  });
}

/** The project, or null where there is none or the text is no project's id. Text that is no UUID costs no query. */
export async function findProject(projects: ProjectStore, id: string): Promise<Project | null> {
  return isUuid(id) ? projects.find(id) : null;
}

function answer(found: Project | null) {
  return found === null ? refuse('project_not_found') : { status: 200, body: toProject(found) };
}

/** The Project of docs/api.md. */
function toProject({ id, name, slug, plan, deployedAt }: Project) {
  return { id, name, slug, plan, deployedAt };
}

/** The Deploy of docs/api.md. */
function toDeploy({ id, projectId, status, upstream, createdAt }: Deploy) {
  return { id, projectId, status, upstream, createdAt };
}
