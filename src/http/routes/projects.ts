/** Projects and their deploys: what has to be there before a domain can be published. */
import { parseHostname } from '../../core/names/hostname.ts';
import { oldKeyEndsAt } from '../../core/operations/edge-route.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Deploy, Project } from '../../core/records.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  deploy,
  docsDeploy,
  docsProject,
  docsSigningSecret,
  newDeploy,
  newProject,
  project,
  projectChange,
  projectList,
  projectQuery,
  signingSecret,
} from '../schemas/projects.ts';

/** What the operations on projects call. */
export type ProjectRoutesDeps = {
  readonly projects: ProjectStore;
  /** Host names at or below it are attached to no project. */
  readonly platformDomain: string;
  /** The key that signs the requests to a project's deploys. */
  signingKey(projectId: string, generation: number): Uint8Array;
  now(): Date;
};

/** The operations on projects, their deploys and what signs the requests to those. A project cannot be deleted. */
export function projectRoutes(deps: ProjectRoutesDeps): readonly Route[] {
  return [
    listProjects,
    createProject,
    getProject,
    updateProject,
    createDeploy,
    getSigningSecret,
    rotateSigningSecret,
  ].map((make) => make(deps));
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
    handle: async ({ params, body }) => {
      if (!isUuid(params.projectId)) return refuse('project_not_found');
      const created = await projects.addDeploy(params.projectId, body, now());
      return created === null
        ? refuse('project_not_found')
        : { status: 201, body: toDeploy(created) };
    },
  });
}

const signingPath = '/v1/projects/:projectId/signing-secret';

/** Needs a scope that may write: whoever has it can make requests that look as if they came through here. */
function getSigningSecret(deps: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: signingPath,
    scope: 'domains:write',
    operationId: 'getSigningSecret',
    summary: "Show a project's signing secret",
    description:
      'What signs the requests to its deploys: the edge sends `Signpost-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>`, by which a deploy can tell that a request came through it. Every project has one from the start. The answer is not to be kept.',
    momentary: true,
    success: {
      status: 200,
      description: 'The secret',
      schema: signingSecret,
      example: docsSigningSecret,
    },
    refusals: ['project_not_found'],
    handle: async ({ params }) => {
      const project = await findProject(deps.projects, params.projectId);
      if (project === null) return refuse('project_not_found');
      const body = { ...signingView(project, deps.now()), secret: secretOf(deps, project) };
      return { status: 200, body, headers: { 'cache-control': 'no-store' } };
    },
  });
}

/** Not idempotent: each request makes another secret, unless it repeats one with the same Idempotency-Key. */
function rotateSigningSecret(deps: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: '/v1/projects/:projectId/signing-secret/rotate',
    scope: 'domains:write',
    operationId: 'rotateSigningSecret',
    summary: 'Give a project a new signing secret',
    description:
      'The answer shows it; a replay for an Idempotency-Key has null in its place. For 24 hours the secret of before signs, too: every request has two signatures, and a deploy that knows either accepts it. Rotating twice ends the first secret at once. It counts within a second.',
    success: {
      status: 200,
      description: 'The new secret',
      schema: signingSecret,
      example: {
        ...docsSigningSecret,
        rotatedAt: '2026-11-20T12:00:00.000Z',
        oldSecretEndsAt: '2026-11-21T12:00:00.000Z',
      },
    },
    refusals: ['project_not_found'],
    handle: async ({ params }) => {
      if (!isUuid(params.projectId)) return refuse('project_not_found');
      const rotated = await deps.projects.rotateSigning(params.projectId, deps.now());
      if (rotated === null) return refuse('project_not_found');
      const view = signingView(rotated, deps.now());
      const body = { ...view, secret: secretOf(deps, rotated) };
      return { status: 200, body, replayBody: { ...view, secret: null } };
    },
  });
}

/** In the form of webhooks' secrets: the bytes behind the prefix are what signs. */
function secretOf({ signingKey }: ProjectRoutesDeps, project: Project): string {
  const key = signingKey(project.id, project.signingGeneration);
  return `sigsec_${Buffer.from(key).toString('base64')}`;
}

/** The SigningSecret of docs/api.md without the secret. An old one that signs no more at `now` is not shown. */
function signingView({ id, signingRotatedAt }: Project, now: Date) {
  const endsAt = oldKeyEndsAt(signingRotatedAt);
  return {
    projectId: id,
    rotatedAt: signingRotatedAt,
    oldSecretEndsAt: endsAt !== null && endsAt > now ? endsAt : null,
  };
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
function toDeploy({ id, projectId, status, upstream, upstreamCa, createdAt }: Deploy) {
  return { id, projectId, status, upstream, upstreamCa, createdAt };
}
