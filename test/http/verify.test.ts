import { afterAll, beforeAll, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { HOUR } from '../../src/core/time.ts';
import { domainRoutes } from '../../src/http/routes/domains.ts';
import { type RecordedJobs, recordJobs } from '../support/database-service.ts';
import { callApi, startTestApi, type TestApi } from './support.ts';

let jobs: RecordedJobs;
let api: TestApi;
let key: string;
let projectId: string;

beforeAll(async () => {
  api = await startTestApi((service) => domainRoutes(service, () => {}));
  jobs = recordJobs(api.service);
  key = await api.keyWith('domains:read', 'domains:write');
  const project = { name: 'Docs', slug: 'docs', plan: 'pro' } as const;
  projectId = (await api.service.projects.create(wholeInstallation, project))?.id ?? '';
});
afterAll(() => api.close());

it('POST verify starts the order of a verified domain at once and keeps its name', async () => {
  const hostname = 'docs.example.com';
  const verifiedAt = api.clock.now;
  await api.service.domains.add(
    wholeInstallation,
    { projectId, hostname, target: 'x' },
    verifiedAt,
  );
  const verified = { status: 'verified', verifiedAt, nextCheckAt: new Date(8e12) } as const;
  await api.prisma.domain.updateMany({ where: { hostname }, data: verified });
  api.clock.now = new Date(verifiedAt.getTime() + HOUR);
  const line = `POST /v1/projects/${projectId}/domains/${hostname}/verify`;
  expect(await callApi(api.api, line, { key })).toMatchObject({
    status: 202,
    body: {
      status: 'verified',
      verifiedAt: verifiedAt.toISOString(),
      certificate: { nextAttemptAt: api.clock.now.toISOString() },
    },
  });
  expect(jobs.woken).toEqual(['issue-certificate', 'issue-certificate now']);
  expect(jobs.forgotten).toEqual([]);
});
