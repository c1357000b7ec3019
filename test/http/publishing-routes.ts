import { createSigningKeys, createTargets } from '../../src/certificates/vault/derived-secrets.ts';
import { VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type DomainRoutesDeps, domainRoutes } from '../../src/http/routes/domains.ts';
import { projectRoutes } from '../../src/http/routes/projects.ts';

export const platformDomain = 'edge.signpost.test';

type Effects = Partial<Pick<DomainRoutesDeps, 'wake' | 'orderNow' | 'forget' | 'dropTraffic'>>;

/** All side effects go to `effects`. */
export function publishingRoutes(
  prisma: PrismaClient,
  now: () => Date,
  effects: Effects,
): readonly Route[] {
  const projects = createProjectStore(prisma);
  return [
    ...projectRoutes({
      projects,
      platformDomain,
      signingKey: createSigningKeys(new Uint8Array(32)),
      now,
    }),
    ...domainRoutes({
      projects,
      domains: createDomainStore(prisma),
      platformDomain,
      windowMs: VERIFY_WINDOW_MS,
      targetFor: createTargets(new Uint8Array(32), platformDomain),
      wake: async () => {},
      orderNow: async () => {},
      forget: async () => {},
      dropTraffic: () => {},
      now,
      ...effects,
    }),
  ];
}
