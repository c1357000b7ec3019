import type { Access } from '../../core/access.ts';
import type { ServedDomains } from '../../db/projects.ts';
import type { Service } from '../../service/service.ts';
import { type Refusal, refuse, refuseFields } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { projectRemoval } from '../schemas/projects.ts';
import { forgetEpoch } from './after-commit.ts';
import type { DropTraffic } from './domains.ts';
import { findProject } from './projects.ts';

/** One domain at a time: after a crash, the project exists with the remaining domains. */
export function deleteProjectRoute(service: Service, dropTraffic: DropTraffic): Route {
  return route({
    tag: 'Projects',
    stability: 'stable',
    at: 'DELETE /v1/projects/:projectId',
    scope: 'projects:write',
    operationId: 'deleteProject',
    summary: 'Delete a project',
    description:
      'Removes its domains, whose traffic stops at once, and ends their certificate orders, its webhooks and its signing secret. Its slug can be used again. A project with live or drifted domains is only deleted with `domains=remove`. Operators see the history of its domains for 30 days; then its events, deliveries and metadata are erased. If the request fails, repeat it.',
    commitsInSteps: true,
    query: projectRemoval,
    success: success(204, 'The project does not exist anymore'),
    refusals: ['project_not_found', 'project_has_live_domains'],
    handle: async ({ access, params, query, requestId }) => {
      const found = await findProject(service, access, params.projectId);
      if (found === null) return refuse('project_not_found');
      const keepsServed = query.domains === undefined;
      if (keepsServed) {
        const served = await service.projects.servedDomains(access, found.id, NAMED_MAX);
        if (served.count > 0) return refuseServed(served);
      }
      const isDeleted = await removeWithDomains(service, found.id, {
        access,
        keepsServed,
        requestId,
        dropTraffic,
      });
      // One went live after the check; the others are removed.
      return isDeleted
        ? { status: 204 }
        : refuseServed(await service.projects.servedDomains(access, found.id, NAMED_MAX));
    },
  });
}

/** Host names that an error lists; the rest are counted. */
const NAMED_MAX = 20;

function refuseServed({ hostnames, count }: ServedDomains): Refusal {
  const more = count > hostnames.length ? ` and ${count - hostnames.length} more` : '';
  const message = `These domains are live or drifted: ${hostnames.join(', ')}${more}. Remove them first, or use ?domains=remove.`;
  const fields = hostnames.map((hostname) => {
    return { field: hostname, code: 'in_use', message: 'is live or drifted' } as const;
  });
  return refuseFields('project_has_live_domains', message, fields);
}

const REMOVED_AT_ONCE = 100;

export type Deleting = {
  readonly access: Access;
  readonly keepsServed: boolean;
  readonly requestId: string;
  readonly dropTraffic: DropTraffic;
};

/** Also removes domains that are added while it runs. False if a served domain is to be kept. */
export async function removeWithDomains(
  service: Service,
  projectId: string,
  deleting: Deleting,
): Promise<boolean> {
  const { access } = deleting;
  for (;;) {
    const hostnames = await service.projects.attachedDomains(access, projectId, REMOVED_AT_ONCE);
    for (const hostname of hostnames) {
      if (!(await remove(service, { projectId, hostname }, deleting))) return false;
    }
    if (hostnames.length > 0) continue;
    if ((await service.projects.remove(access, projectId, service.now())) !== 'has_domains') break;
  }
  await service.webhooks.endOfProject(access, projectId);
  return true;
}

/** False if it is served and to be kept. */
async function remove(
  service: Service,
  name: { readonly projectId: string; readonly hostname: string },
  { access, keepsServed, requestId, dropTraffic }: Deleting,
): Promise<boolean> {
  const orphans = keepsServed ? 'drop_unless_served' : 'drop';
  const removed = await service.domains.remove(access, name, { at: service.now(), orphans });
  if (removed?.kind === 'served') return false;
  if (removed?.kind !== 'removed') return true;
  dropTraffic(name.hostname);
  await forgetEpoch(service, removed, requestId);
  return true;
}
