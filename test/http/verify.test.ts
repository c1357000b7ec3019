import { afterAll, beforeAll, expect, it } from 'vitest';
import { followUps } from '../../src/core/life/follow-ups.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { domainRoutes } from '../../src/http/routes/domains.ts';
import { callApi, startTestApi, type TestApi } from './support.ts';

const HOUR_MS = 3_600_000;
const woken: string[] = [];
let api: TestApi;
let key: string;
let projectId: string;

beforeAll(async () => {
  api = await startTestApi((prisma, now) =>
    domainRoutes({
      projects: createProjectStore(prisma),
      domains: createDomainStore(prisma),
      platformDomain: 'edge.test',
      domainsPerHour: 100,
      windowMs: 48 * HOUR_MS,
      targetFor: () => 'x.edge.test',
      wake: async (domain) => void woken.push(...followUps(domain).map(({ queue }) => queue)),
      orderNow: async () => void woken.push('order now'),
      forget: async () => void woken.push('forget'),
      dropTraffic: () => {},
      now,
    }),
  );
  key = await api.keyWith('domains:read', 'domains:write');
  const project = { name: 'Docs', slug: 'docs', plan: 'pro' } as const;
  projectId = (await createProjectStore(api.prisma).create(project))?.id ?? '';
});
afterAll(() => api.close());

it('POST verify starts the order of a verified domain at once and keeps its name', async () => {
  const hostname = 'docs.example.com';
  const verifiedAt = api.clock.now;
  await createDomainStore(api.prisma).add({ projectId, hostname, target: 'x' }, verifiedAt);
  const verified = { status: 'verified', verifiedAt, nextCheckAt: new Date(8e12) } as const;
  await api.prisma.domain.updateMany({ where: { hostname }, data: verified });
  api.clock.now = new Date(verifiedAt.getTime() + HOUR_MS);
  const line = `POST /v1/projects/${projectId}/domains/${hostname}/verify`;
  expect(await callApi(api.api, line, { key })).toMatchObject({
    status: 202,
    body: {
      status: 'verified',
      verifiedAt: verifiedAt.toISOString(),
      certificate: { nextAttemptAt: api.clock.now.toISOString() },
    },
  });
  expect(woken).toEqual(['issue-certificate', 'order now']);
});
