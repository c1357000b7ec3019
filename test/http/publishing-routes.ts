import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Route } from '../../src/http/pipeline/route.ts';
import { deleteProjectRoute } from '../../src/http/routes/delete-project.ts';
import { deployRoutes } from '../../src/http/routes/deploys.ts';
import { domainListRoutes } from '../../src/http/routes/domain-lists.ts';
import { type DropTraffic, domainRoutes } from '../../src/http/routes/domains.ts';
import { projectRoutes } from '../../src/http/routes/projects.ts';
import { signingRoutes } from '../../src/http/routes/signing-secret.ts';
import { checkUpstream } from '../../src/net/upstream-check.ts';
import type { Service } from '../../src/service/service.ts';

/** Resolves no names; loopback is allowed, as on a laptop. */
function addressesOnly(upstream: string) {
  const isNamed = (address: string) => address === '127.0.0.1';
  return checkUpstream(
    {
      isNamed,
      ownAddresses: async () => [],
      ownListeners: async () => [],
      lookup: async () => [{ address: '1.1.1.1', family: 4 }],
    },
    upstream,
  );
}

export function publishingRoutes(
  service: Service,
  dropTraffic: DropTraffic = () => undefined,
): readonly Route[] {
  Object.assign(service, { checkUpstream: addressesOnly });
  return [
    ...projectRoutes(service),
    deleteProjectRoute(service, dropTraffic),
    ...deployRoutes(service),
    ...signingRoutes(service),
    ...domainListRoutes(service),
    ...domainRoutes(service, dropTraffic),
  ];
}

/** What a project lacks for its first domain. */
export type Missing = 'nothing' | 'plan' | 'deploy';
type ProjectCall = (
  line: string,
  json: object,
) => Promise<{ readonly status: number; readonly body: unknown }>;

/** Returns the path of its domains. */
export async function makePublishedProject(call: ProjectCall, missing: Missing): Promise<string> {
  const plan = missing === 'plan' ? 'free' : 'pro';
  const project = { name: 'Docs', slug: `docs-${randomUUID().slice(0, 8)}`, plan };
  const { id } = (await call('POST /v1/projects', project)).body as { id: string };
  if (missing !== 'deploy') {
    const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9' };
    expect((await call(`POST /v1/projects/${id}/deploys`, deploy)).status).toBe(201);
  }
  return `/v1/projects/${id}/domains`;
}
