/** What the tests of domains over HTTP share: the routes of projects and domains, and what these set off. */

import {
  createSigningKeys,
  createTargets,
  newClaimNonce,
} from '../../src/certificates/vault/derived-secrets.ts';
import { VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import { plans } from '../../src/core/records.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type DomainRoutesDeps, domainRoutes } from '../../src/http/routes/domains.ts';
import { type ProjectRoutesDeps, projectRoutes } from '../../src/http/routes/projects.ts';
import { signingSecretRoutes } from '../../src/http/routes/signing-secret.ts';
import { withinOwnLimits } from '../support/access.ts';

export const platformDomain = 'edge.signpost.test';

type Effects = Partial<
  Pick<DomainRoutesDeps, 'wake' | 'orderNow' | 'forget' | 'dropTraffic'> &
    Pick<ProjectRoutesDeps, 'upstreamProblem'>
>;

/** What is set off goes nowhere but to `effects`. */
export function publishingRoutes(
  prisma: PrismaClient,
  now: () => Date,
  effects: Effects,
): readonly Route[] {
  const projects = createProjectStore(prisma);
  const withinLimits = withinOwnLimits(prisma);
  return [
    ...projectRoutes({
      accounts: createAccountStore(prisma),
      projects,
      withinLimits,
      accountPlans: plans,
      platformDomain,
      upstreamProblem: () => null,
      now,
      ...effects,
    }),
    ...signingSecretRoutes({
      projects,
      signingKey: createSigningKeys(new Uint8Array(32)),
      now,
    }),
    ...domainRoutes({
      projects,
      domains: createDomainStore(prisma),
      withinLimits,
      platformDomain,
      windowMs: VERIFY_WINDOW_MS,
      targetFor: createTargets(new Uint8Array(32), platformDomain),
      newClaimNonce,
      wake: async () => {},
      orderNow: async () => {},
      forget: async () => {},
      dropTraffic: () => {},
      now,
      ...effects,
    }),
  ];
}
