/** What signs the requests to a project's deploys: shown, and replaced. */
import { oldKeyEndsAt } from '../../core/operations/edge-route.ts';
import type { Project } from '../../core/records.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { docsSigningSecret, signingSecret } from '../schemas/projects.ts';
import { findProject, subjectOf } from './projects.ts';

/** What the operations on signing secrets call. */
export type SigningSecretRoutesDeps = {
  readonly projects: Pick<ProjectStore, 'find' | 'rotateSigning'>;
  /** The key that signs the requests to a project's deploys. */
  signingKey(projectId: string, generation: number): Uint8Array;
  now(): Date;
};

/** The operations on a project's signing secret. */
export function signingSecretRoutes(deps: SigningSecretRoutesDeps): readonly Route[] {
  return [getSigningSecret, rotateSigningSecret].map((make) => make(deps));
}

const inCommon = { tag: 'Projects', stability: 'beta' } as const;
const signingPath = '/v1/projects/:projectId/signing-secret';

/**
 * Needs a scope that may write: whoever has it can make requests that look as if they came through here. So the audit log has
 * who was shown it, although nothing changes.
 */
function getSigningSecret(deps: SigningSecretRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'project',
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
    handle: async ({ key, params }) => {
      const project = await findProject(deps.projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const body = { ...signingView(project, deps.now()), secret: secretOf(deps, project) };
      const headers = { 'cache-control': 'no-store' };
      return { status: 200, body, headers, about: subjectOf(project) };
    },
  });
}

/** Not idempotent: each request makes another secret, unless it repeats one with the same Idempotency-Key. */
function rotateSigningSecret(deps: SigningSecretRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'project',
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
    handle: async ({ key, params }) => {
      const found = await findProject(deps.projects, key.access, params.projectId);
      const rotated = found && (await deps.projects.rotateSigning(found.id, deps.now()));
      if (rotated === null) return refuse('project_not_found');
      const view = signingView(rotated, deps.now());
      const body = { ...view, secret: secretOf(deps, rotated) };
      const replayBody = { ...view, secret: null };
      return { status: 200, body, replayBody, about: subjectOf(rotated) };
    },
  });
}

/** In the form of webhooks' secrets: the bytes behind the prefix are what signs. */
function secretOf({ signingKey }: SigningSecretRoutesDeps, project: Project): string {
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
