/** A project's deploys. Adding a domain requires one that succeeded. */

import type { Deploy } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import type { Service } from '../../service/service.ts';
import { cursorAfterPlace } from '../pipeline/cursor.ts';
import { refuse, refuseField } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import {
  deploy,
  deployList,
  deploysQuery,
  docsDeploy,
  newDeploy,
  reportedDeploy,
} from '../schemas/projects.ts';
import { findProject } from './projects.ts';

export function deployRoutes(service: Service): readonly Route[] {
  return [createDeploy, listDeploys, getDeploy].map((make) => make(service));
}

const inCommon = { tag: 'Projects', stability: 'stable' } as const;
const deploysPath = '/v1/projects/:projectId/deploys';

/** Stores what the caller reports, without requests to the upstream; only its name is resolved. */
function createDeploy(service: Service): Route {
  return route({
    ...inCommon,
    at: `POST ${deploysPath}`,
    scope: 'projects:write',
    operationId: 'createDeploy',
    summary: 'Report a deploy',
    description:
      'An address that is not public is refused, unless the operator allows its network. A port of Signpost itself or of its storage is always refused. If the name of `upstream` resolves to such an address, or to none, `warnings` say so. A successful deploy makes the project publishable, and the edge proxies requests to its `upstream` from then on. The certificate of an https `upstream` is verified against the public CAs, or only against `upstreamCa` if given.',
    body: newDeploy,
    bodyExample: { status: docsDeploy.status, upstream: docsDeploy.upstream },
    success: success(
      201,
      'The deploy was stored',
      reportedDeploy,
      { ...docsDeploy, warnings: [] },
      { location: 'Path of the deploy' },
    ),
    refusals: ['project_not_found'],
    preload: async ({ access, params, body }) => {
      const project = await findProject(service, access, params.projectId);
      return project && service.checkUpstream(body.upstream);
    },
    handle: async ({ access, params, body }, checked) => {
      if (checked === null) return refuse('project_not_found');
      if (checked.kind === 'refused') {
        return refuseField('invalid_body', 'upstream', checked.problem);
      }
      const created = await service.deploys.add(access, params.projectId, body, service.now());
      if (created === null) return refuse('project_not_found');
      const { warnings } = checked;
      const headers = { location: `/v1/projects/${created.projectId}/deploys/${created.id}` };
      return { status: 201, body: { ...deployView(created), warnings }, headers };
    },
  });
}

function listDeploys(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${deploysPath}`,
    scope: 'domains:read',
    operationId: 'listDeploys',
    summary: "List a project's deploys",
    description: 'Lists deploys in pages, newest first, including failed ones.',
    query: deploysQuery,
    success: success(200, 'A page of deploys', deployList, [docsDeploy]),
    refusals: ['project_not_found'],
    handle: async ({ access, params, query: { limit, cursor = null } }) => {
      const project = await findProject(service, access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const page = await service.deploys.list(access, project.id, { after: cursor, limit });
      return pageAnswer(page, cursorAfterPlace, deployView);
    },
  });
}

function getDeploy(service: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/projects/:projectId/deploys/:deployId',
    scope: 'domains:read',
    operationId: 'getDeploy',
    summary: 'Get one deploy',
    success: success(200, 'The deploy', deploy, docsDeploy),
    refusals: ['project_not_found', 'deploy_not_found'],
    handle: async ({ access, params: { projectId, deployId } }) => {
      const project = await findProject(service, access, projectId);
      if (project === null) return refuse('project_not_found');
      const found = isUuid(deployId)
        ? await service.deploys.find(access, project.id, deployId)
        : null;
      return found === null ? refuse('deploy_not_found') : { status: 200, body: deployView(found) };
    },
  });
}

function deployView({ id, projectId, status, upstream, upstreamCa, createdAt }: Deploy) {
  return { id, projectId, status, upstream, upstreamCa, createdAt };
}
