import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { createSigningKeys, createTargets } from '../../src/certificates/vault/derived-secrets.ts';
import { VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import { createWebhookStore } from '../../src/db/delivery/webhooks.ts';
import { createDeployStore } from '../../src/db/deploys.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { deleteProject } from '../../src/http/routes/delete-project.ts';
import { deployRoutes } from '../../src/http/routes/deploys.ts';
import { domainListRoutes } from '../../src/http/routes/domain-lists.ts';
import { type DomainRoutesDeps, domainRoutes } from '../../src/http/routes/domains.ts';
import { projectRoutes } from '../../src/http/routes/projects.ts';
import { signingRoutes } from '../../src/http/routes/signing-secret.ts';
import { checkUpstream } from '../../src/net/upstream-check.ts';

export const platformDomain = 'edge.signpost.test';

type Effects = Partial<Pick<DomainRoutesDeps, 'wake' | 'orderNow' | 'forget' | 'dropTraffic'>>;

/** Resolves no names; loopback is allowed, as on a laptop. */
function addressesOnly(upstream: string) {
  const isNamed = (address: string) => address === '127.0.0.1';
  return checkUpstream(
    {
      isNamed,
      ownAddresses: async () => [],
      lookup: async () => [{ address: '1.1.1.1', family: 4 }],
    },
    upstream,
  );
}

/** All side effects go to `effects`. */
export function publishingRoutes(
  prisma: PrismaClient,
  now: () => Date,
  effects: Effects,
): readonly Route[] {
  const projects = createProjectStore(prisma);
  const deploys = createDeployStore(prisma);
  const common = {
    projects,
    domains: createDomainStore(prisma),
    platformDomain,
    windowMs: VERIFY_WINDOW_MS,
    wake: async () => {},
    orderNow: async () => {},
    forget: async () => {},
    dropTraffic: () => {},
    now,
    ...effects,
  };
  return [
    ...projectRoutes({ ...common, deploys }),
    deleteProject({ ...common, webhooks: createWebhookStore(prisma) }),
    ...deployRoutes({ projects, deploys, checkUpstream: addressesOnly, now }),
    ...signingRoutes({ projects, signingKey: createSigningKeys(new Uint8Array(32)), now }),
    ...domainListRoutes(common),
    ...domainRoutes({
      ...common,
      domainsPerHour: 100,
      targetFor: createTargets(new Uint8Array(32), platformDomain),
    }),
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
