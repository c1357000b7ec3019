import type { WebhookStore } from '../../db/delivery/webhooks.ts';
import type { DomainStore } from '../../db/domains/domains.ts';
import type { ProjectStore, ServedDomains } from '../../db/projects.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { projectRemoval } from '../schemas/projects.ts';
import type { DomainRoutesDeps } from './domains.ts';
import { findProject } from './projects.ts';

export type DeleteProjectDeps = Pick<DomainRoutesDeps, 'dropTraffic' | 'forget' | 'now'> & {
  readonly projects: ProjectStore;
  readonly domains: Pick<DomainStore, 'remove'>;
  readonly webhooks: Pick<WebhookStore, 'removeAll'>;
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
      if (query.domains === undefined) {
        const served = await deps.projects.servedDomains(found.id, NAMED_MAX);
        if (served.count > 0) return refuse('project_has_live_domains', inUse(served));
      }
      await removeWithDomains(deps, found.id, requestId);
      return { status: 204 };
    },
  });
}

/** Host names that an error lists; the rest are counted. */
const NAMED_MAX = 20;

function inUse({ hostnames, count }: ServedDomains): string {
  const more = count > hostnames.length ? ` and ${count - hostnames.length} more` : '';
  return `These domains are live or drifted: ${hostnames.join(', ')}${more}. Remove them first, or use ?domains=remove.`;
}

const REMOVED_AT_ONCE = 100;

/** Also removes domains that are added while it runs. */
async function removeWithDomains(
  deps: DeleteProjectDeps,
  projectId: string,
  requestId: string,
): Promise<void> {
  for (;;) {
    const hostnames = await deps.projects.attachedDomains(projectId, REMOVED_AT_ONCE);
    for (const hostname of hostnames) await remove(deps, { projectId, hostname }, requestId);
    if (hostnames.length > 0) continue;
    if ((await deps.projects.remove(projectId, deps.now())) !== 'has_domains') break;
  }
  await deps.webhooks.removeAll(projectId, deps.now());
}

async function remove(
  deps: DeleteProjectDeps,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  requestId: string,
): Promise<void> {
  const removed = await deps.domains.remove(projectId, hostname, deps.now(), 'drop');
  if (removed?.kind !== 'removed') return;
  deps.dropTraffic(hostname);
  await deps.forget(removed, requestId);
}
