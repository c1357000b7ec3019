/** The secret that signs the edge's requests to a project's deploys. */
import { oldKeyEndsAt } from '../../core/operations/edge-route.ts';
import type { Project } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import type { Service } from '../../service/service.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { docsSigningSecret, signingSecret } from '../schemas/projects.ts';
import { findProject } from './projects.ts';

export function signingRoutes(service: Service): readonly Route[] {
  return [getSigningSecret(service), rotateSigningSecret(service)];
}

const inCommon = { tag: 'Projects', stability: 'stable' } as const;
const signingPath = '/v1/projects/:projectId/signing-secret';

/** Requires a write scope: the secret can forge requests that appear to come from the edge. */
function getSigningSecret(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${signingPath}`,
    scope: 'projects:write',
    operationId: 'getSigningSecret',
    summary: "Show a project's signing secret",
    description:
      "Signs the requests to the project's deploys. The edge sends `Signpost-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>`, which proves that a request came through it. Every project has a secret from the start. The response is not cacheable.",
    momentary: true,
    showsSecret: true,
    success: success(200, 'The signing secret', signingSecret, docsSigningSecret),
    refusals: ['project_not_found'],
    handle: async ({ access, params }) => {
      const project = await findProject(service, access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const body = { ...signingView(project, service.now()), secret: secretOf(service, project) };
      return { status: 200, body, headers: { 'cache-control': 'no-store' } };
    },
  });
}

/** Each request creates another secret, except for repetitions with the same Idempotency-Key. */
function rotateSigningSecret(service: Service): Route {
  return route({
    ...inCommon,
    at: 'POST /v1/projects/:projectId/signing-secret/rotate',
    scope: 'projects:write',
    operationId: 'rotateSigningSecret',
    summary: "Rotate a project's signing secret",
    description:
      'The response shows the new secret; a response replayed for an Idempotency-Key has null instead. For 24 hours, every request is signed with both secrets, so a deploy that knows either one accepts it. A second rotation ends the first secret at once. The change applies within a second.',
    success: success(200, 'The new signing secret', signingSecret, {
      ...docsSigningSecret,
      rotatedAt: '2026-11-20T12:00:00.000Z',
      oldSecretEndsAt: '2026-11-21T12:00:00.000Z',
    }),
    refusals: ['project_not_found'],
    handle: async ({ access, params }) => {
      if (!isUuid(params.projectId)) return refuse('project_not_found');
      const rotated = await service.projects.rotateSigning(access, params.projectId, service.now());
      if (rotated === null) return refuse('project_not_found');
      const view = signingView(rotated, service.now());
      const body = { ...view, secret: secretOf(service, rotated) };
      return { status: 200, body, replayBody: { ...view, secret: null } };
    },
  });
}

/** Same form as a webhook secret: the bytes after the prefix are the key. */
function secretOf({ signingKey }: Service, project: Project): string {
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
