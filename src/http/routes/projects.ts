/** Projects and their deploys. Adding a domain requires a deploy. */
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

export type ProjectRoutesDeps = {
  readonly projects: ProjectStore;
  /** Host names at or below it cannot be attached. */
  readonly platformDomain: string;
  /** The key that signs requests to a project's deploys. */
  signingKey(projectId: string, generation: number): Uint8Array;
  now(): Date;
};

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

function listProjects({ projects, platformDomain }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: projectsPath,
    scope: 'domains:read',
    operationId: 'listProjects',
    summary: 'List projects',
    description: 'All projects, oldest first. With `hostname`, only projects with this domain.',
    query: projectQuery,
    success: {
      status: 200,
      description: 'Projects',
      schema: projectList,
      example: [docsProject],
    },
    handle: async ({ query: { hostname } }) => {
      const named = hostname === undefined ? undefined : parseHostname(hostname, platformDomain);
      // A name that cannot be added belongs to no project.
      if (named?.ok === false) return { status: 200, body: [] };
      const found = await projects.list(named?.hostname.ascii);
      return { status: 200, body: found.map(toProject) };
    },
  });
}

/** 409 if the slug is taken, also if both requests arrive at once. */
function createProject({ projects }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: projectsPath,
    scope: 'domains:write',
    operationId: 'createProject',
    summary: 'Create a project',
    body: newProject,
    bodyExample: { name: 'Docs', slug: 'docs', plan: 'pro' },
    success: {
      status: 201,
      description: 'The project was created',
      schema: project,
      example: { ...docsProject, deployedAt: null },
      headers: { location: 'Path of the project' },
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
    description: 'Changes the name, the plan or both. Omitted fields keep their values.',
    body: projectChange,
    bodyExample: { plan: 'pro' },
    success: {
      status: 200,
      description: 'The changed project',
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

/** Stores what the caller reports, without requests to the upstream. */
function createDeploy({ projects, now }: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: '/v1/projects/:projectId/deploys',
    scope: 'domains:write',
    operationId: 'createDeploy',
    summary: 'Report a deploy',
    description:
      'A successful deploy makes the project publishable, and the edge proxies requests to its `upstream` from then on. The certificate of an https `upstream` is verified against the public CAs, or only against `upstreamCa` if given.',
    body: newDeploy,
    bodyExample: { status: docsDeploy.status, upstream: docsDeploy.upstream },
    success: {
      status: 201,
      description: 'The deploy was stored',
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

/** Requires a write scope: the secret can forge requests that appear to come from the edge. */
function getSigningSecret(deps: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: signingPath,
    scope: 'domains:write',
    operationId: 'getSigningSecret',
    summary: "Show a project's signing secret",
    description:
      "Signs the requests to the project's deploys. The edge sends `Signpost-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>`, which proves that a request came through it. Every project has a secret from the start. The response is not cacheable.",
    momentary: true,
    success: {
      status: 200,
      description: 'The signing secret',
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

/** Each request creates another secret, except for repetitions with the same Idempotency-Key. */
function rotateSigningSecret(deps: ProjectRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'POST',
    path: '/v1/projects/:projectId/signing-secret/rotate',
    scope: 'domains:write',
    operationId: 'rotateSigningSecret',
    summary: "Rotate a project's signing secret",
    description:
      'The response shows the new secret; a response replayed for an Idempotency-Key has null instead. For 24 hours, every request is signed with both secrets, so a deploy that knows either one accepts it. A second rotation ends the first secret at once. The change applies within a second.',
    success: {
      status: 200,
      description: 'The new signing secret',
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

/** Same form as a webhook secret: the bytes after the prefix are the key. */
function secretOf({ signingKey }: ProjectRoutesDeps, project: Project): string {
  const key = signingKey(project.id, project.signingGeneration);
  return `sigsec_${Buffer.from(key).toString('base64')}`;
}

/** Without the secret. Omits an expired previous secret. */
function signingView({ id, signingRotatedAt }: Project, now: Date) {
  const endsAt = oldKeyEndsAt(signingRotatedAt);
  return {
    projectId: id,
    rotatedAt: signingRotatedAt,
    oldSecretEndsAt: endsAt !== null && endsAt > now ? endsAt : null,
  };
}

/** Text that is not a UUID costs no query. */
export async function findProject(projects: ProjectStore, id: string): Promise<Project | null> {
  return isUuid(id) ? projects.find(id) : null;
}

function answer(found: Project | null) {
  return found === null ? refuse('project_not_found') : { status: 200, body: toProject(found) };
}

function toProject({ id, name, slug, plan, deployedAt }: Project) {
  return { id, name, slug, plan, deployedAt };
}

function toDeploy({ id, projectId, status, upstream, upstreamCa, createdAt }: Deploy) {
  return { id, projectId, status, upstream, upstreamCa, createdAt };
}
