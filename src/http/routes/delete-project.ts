import type { WebhookStore } from '../../db/delivery/webhooks.ts';
import type { DomainStore } from '../../db/domains/domains.ts';
import type { ProjectStore, ServedDomains } from '../../db/projects.ts';
import { type Refusal, refuse, refuseFields } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { projectRemoval } from '../schemas/projects.ts';
import type { DomainRoutesDeps } from './domains.ts';
import { findProject } from './projects.ts';

export type DeleteProjectDeps = Pick<DomainRoutesDeps, 'dropTraffic' | 'forget' | 'now'> & {
  readonly projects: ProjectStore;
  readonly domains: Pick<DomainStore, 'remove'>;
  readonly webhooks: Pick<WebhookStore, 'endOfProject'>;
};

/** One domain at a time: after a crash, the project exists with the remaining domains. */
export function deleteProject(deps: DeleteProjectDeps): Route {
  return route({
    tag: 'Projects',
    stability: 'stable',
    method: 'DELETE',
    path: '/v1/projects/:projectId',
    scope: 'domains:write',
    operationId: 'deleteProject',
    summary: 'Delete a project',
    description:
      'Removes its domains, whose traffic stops at once, and ends their certificate orders, its webhooks and its signing secret. Its slug can be used again. A project with live or drifted domains is only deleted with `domains=remove`. Operators keep the history of its domains. If the request fails, repeat it.',
    query: projectRemoval,
    success: { status: 204, description: 'The project does not exist anymore' },
    refusals: ['project_not_found', 'project_has_live_domains'],
    handle: async ({ params, query, requestId }) => {
      const found = await findProject(deps.projects, params.projectId);
      if (found === null) return refuse('project_not_found');
      const keepsServed = query.domains === undefined;
      if (keepsServed) {
        const served = await deps.projects.servedDomains(found.id, NAMED_MAX);
        if (served.count > 0) return refuseServed(served);
      }
      const isDeleted = await removeWithDomains(deps, found.id, { keepsServed, requestId });
      // One went live after the check; the others are removed.
      return isDeleted
        ? { status: 204 }
        : refuseServed(await deps.projects.servedDomains(found.id, NAMED_MAX));
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

type Deleting = { readonly keepsServed: boolean; readonly requestId: string };

/** Also removes domains that are added while it runs. False if a served domain is to be kept. */
async function removeWithDomains(
  deps: DeleteProjectDeps,
  projectId: string,
  deleting: Deleting,
): Promise<boolean> {
  for (;;) {
    const hostnames = await deps.projects.attachedDomains(projectId, REMOVED_AT_ONCE);
    for (const hostname of hostnames) {
      if (!(await remove(deps, { projectId, hostname }, deleting))) return false;
    }
    if (hostnames.length > 0) continue;
    if ((await deps.projects.remove(projectId, deps.now())) !== 'has_domains') break;
  }
  await deps.webhooks.endOfProject(projectId);
  return true;
}

/** False if it is served and to be kept. */
async function remove(
  deps: DeleteProjectDeps,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  { keepsServed, requestId }: Deleting,
): Promise<boolean> {
  const how = keepsServed ? 'drop_unless_served' : 'drop';
  const removed = await deps.domains.remove(projectId, hostname, deps.now(), how);
  if (removed?.kind === 'served') return false;
  if (removed?.kind !== 'removed') return true;
  deps.dropTraffic(hostname);
  await deps.forget(removed, requestId);
  return true;
}
