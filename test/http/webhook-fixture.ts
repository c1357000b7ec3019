import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { webhookRoutes } from '../../src/http/routes/webhooks.ts';
import { noon } from '../support/builders.ts';
import { callApi, startTestApi, type TestApi } from './support.ts';

export const url = 'https://hooks.example.com/signpost';
export type Shown = { id: string; secret: string | null; [field: string]: unknown };

/**
 * Opens everything before the tests of a file and closes it after them; each test has its own
 * project.
 */
export function webhookApi() {
  let api: TestApi;
  let key: string;
  let admin: string;
  let projectId: string;

  beforeAll(async () => {
    api = await startTestApi(webhookRoutes);
    key = await api.keyWith('domains:read', 'domains:write');
    admin = await api.keyWith('admin');
  });
  afterAll(() => api.close());
  beforeEach(async () => {
    api.clock.now = noon;
    await api.prisma.webhook.deleteMany();
    await fixture.nextProject();
  });

  const fixture = {
    get prisma() {
      return api.prisma;
    },
    get clock() {
      return api.clock;
    },
    get projectId() {
      return projectId;
    },
    get base() {
      return `/v1/projects/${projectId}/webhooks`;
    },
    async nextProject() {
      const slug = `p-${randomBytes(6).toString('hex')}`;
      const made = await api.service.projects.create(wholeInstallation, {
        name: 'P',
        slug,
        plan: 'pro',
      });
      projectId = made?.id ?? '';
    },
    /** Adds a domain for each name; each adds one event. */
    async reportOf(...hostnames: readonly string[]) {
      const { domains } = api.service;
      for (const hostname of hostnames) {
        await domains.add(
          wholeInstallation,
          { projectId, hostname, target: 'x.edge.test' },
          api.clock.now,
        );
      }
    },
    call: (line: string, json?: unknown, headers = {}) =>
      callApi(api.api, line, { key, headers, ...(json !== undefined && { json }) }),
    operate: (line: string, json?: unknown) =>
      callApi(api.api, line, { key: admin, ...(json !== undefined && { json }) }),
    async make(body: object = { url }): Promise<Shown> {
      const { status, body: made } = await fixture.call(`POST ${fixture.base}`, body);
      expect(status).toBe(201);
      return made as Shown;
    },
  };
  return fixture;
}
