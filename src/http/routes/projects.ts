/** Projects and their deploys: what has to be there before a domain can be published. */
import { z } from 'zod';
import type { Deploy, Project } from '../../db/generated/client.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { refuse } from '../errors.ts';
import { text } from '../json.ts';
import { type Route, route } from '../route.ts';

export type ProjectRoutesDeps = { readonly projects: ProjectStore; now(): Date };

const plan = z.enum(['free', 'pro', 'enterprise']);
const slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 of a-z, 0-9 and inner hyphens');
const upstream = z
  .string()
  .max(2_048, 'must be at most 2048 characters')
  .refine(isUpstream, 'must be an http or https URL without credentials, query or fragment');

const newProject = z.strictObject({ name: text({ max: 255 }), slug, plan: plan.default('free') });
const projectChange = z.strictObject({
  name: text({ max: 255 }).optional(),
  plan: plan.optional(),
});
const newDeploy = z.strictObject({ status: z.enum(['succeeded', 'failed']), upstream });

export function projectRoutes({ projects, now }: ProjectRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/projects',
      scope: 'domains:read',
      operationId: 'listProjects',
      handle: async () => ({ status: 200, body: (await projects.list()).map(toProject) }),
    }),
    route({
      method: 'POST',
      path: '/v1/projects',
      scope: 'domains:write',
      operationId: 'createProject',
      body: newProject,
      handle: async ({ body }) => {
        const project = await projects.create(body);
        return project === null
          ? refuse('slug_taken')
          : {
              status: 201,
              body: toProject(project),
              headers: { location: `/v1/projects/${project.id}` },
            };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/projects/:projectId',
      scope: 'domains:read',
      operationId: 'getProject',
      handle: async ({ params }) => answer(await findProject(projects, params.projectId)),
    }),
    route({
      method: 'PATCH',
      path: '/v1/projects/:projectId',
      scope: 'domains:write',
      operationId: 'updateProject',
      body: projectChange,
      handle: async ({ params, body }) => {
        if (!isProjectId(params.projectId)) return refuse('project_not_found');
        return answer(await projects.update(params.projectId, body));
      },
    }),
    route({
      method: 'POST',
      path: '/v1/projects/:projectId/deploys',
      scope: 'domains:write',
      operationId: 'createDeploy',
      body: newDeploy,
      handle: async ({ params, body }) => {
        if (!isProjectId(params.projectId)) return refuse('project_not_found');
        const deploy = await projects.addDeploy(params.projectId, body, now());
        return deploy === null
          ? refuse('project_not_found')
          : { status: 201, body: toDeploy(deploy) };
      },
    }),
  ];
}

/** The project, or null where there is none or the text is no project's ID. */
export async function findProject(projects: ProjectStore, id: string): Promise<Project | null> {
  return isProjectId(id) ? projects.find(id) : null;
}

function isProjectId(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}

function answer(project: Project | null) {
  return project === null ? refuse('project_not_found') : { status: 200, body: toProject(project) };
}

function toProject({ id, name, slug, plan, deployedAt }: Project) {
  return { id, name, slug, plan, deployedAt };
}

function toDeploy({ id, projectId, status, upstream, createdAt }: Deploy) {
  return { id, projectId, status, upstream, createdAt };
}

/** Visitors' paths and queries are appended to it, so it must not bring its own query. */
function isUpstream(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return ['http:', 'https:'].includes(protocol) && `${username}${password}${search}${hash}` === '';
}
