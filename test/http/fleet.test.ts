/** On a real service, with processes written as others report them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { API_KEY, type RunningDashboard, startDashboard } from '../dashboard/support/dashboard.ts';

type Shown = {
  readonly id: string;
  readonly role: string;
  readonly state: string;
  readonly problem: string | null;
  readonly differs: readonly object[];
  readonly settings: readonly { readonly setting: string; readonly value: string }[];
};

let service: RunningDashboard;
beforeAll(async () => {
  service = await startDashboard();
}, 180_000);
afterAll(() => service?.close());

const prisma = (): PrismaClient => service.signpost.service.database.prisma;
const list = () => service.api<readonly Shown[]>('GET', '/v1/operations/processes');

async function addProcess(more: object): Promise<string> {
  const id = randomUUID();
  const at = new Date();
  const settings = { EDGE: 'caddy', PLATFORM_DOMAIN: 'edge.other.test' };
  await prisma().fleetProcess.create({
    data: {
      ...{ id, role: 'worker', host: 'worker-2', pid: 1, version: '0.0.9', settings },
      ...{ startedAt: new Date(at.getTime() - 60_000), seenAt: at, ...more },
    },
  });
  return id;
}

describe('The processes', () => {
  it('include this one, with its settings and without secrets', async () => {
    const [self] = await list();
    expect(self).toMatchObject({ state: 'running', problem: null, differs: [] });
    const values = self?.settings.map(({ setting, value }) => `${setting} ${value}`);
    expect(values).toContain('CERTIFICATES own');
    expect(JSON.stringify(self)).not.toContain(API_KEY);
  });

  it('show what an older one sets differently, as a task of the overview, too', async () => {
    const id = await addProcess({});
    const found = (await list()).find((one) => one.id === id);
    expect(found?.state).toBe('running');
    expect(found?.differs).toContainEqual({ setting: 'EDGE', value: 'caddy', current: 'own' });
    const overview = await service.api<{ attention: readonly { summary: string }[] }>(
      'GET',
      '/v1/operations/overview',
    );
    expect(overview.attention.map(({ summary }) => summary).join()).toContain(
      'An older configuration is in use: worker on worker-2 (EDGE, PLATFORM_DOMAIN)',
    );
    await prisma().fleetProcess.delete({ where: { id } });
  });

  it('are gone without a report for 30 seconds', async () => {
    const id = await addProcess({ seenAt: new Date(Date.now() - 40_000) });
    expect((await list()).find((one) => one.id === id)?.state).toBe('gone');
    await prisma().fleetProcess.delete({ where: { id } });
  });
});

describe('Accepting a configuration', () => {
  const path = (id: string) => `/v1/operations/processes/${id}/accept`;

  it('makes the settings of a refused process those of the installation', async () => {
    const id = await addProcess({ isRefused: true, problem: 'EDGE is caddy.' });
    const accepted = await service.api<Shown>('POST', path(id));
    expect(accepted).toMatchObject({ id, state: 'refused', problem: 'EDGE is caddy.' });
    const [stored] = await prisma().sharedSettings.findMany();
    expect(stored?.settings).toMatchObject({ EDGE: 'caddy', PLATFORM_DOMAIN: 'edge.other.test' });
  });

  it.each(['running', 'unknown'])('refuses a process that is %s', async (which) => {
    const id = which === 'running' ? await addProcess({}) : randomUUID();
    const { status } = await fetch(service.url + path(id), {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    expect(status).toBe(404);
  });
});
