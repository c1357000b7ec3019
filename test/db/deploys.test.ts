/** How many deploys of a project are kept, however many are reported. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProjectStore, type GrantedProject } from '../../src/db/projects.ts';
import { databases, openTestDatabase, type TestDatabase } from '../http/support.ts';
import { aStoredProject } from '../support/access.ts';
import { later, noon } from '../support/builders.ts';

describe.each(databases)('the deploys of a project on %s', (storage) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openTestDatabase(storage);
  });
  afterAll(() => database?.close());

  const upstream = 'https://deploy.example/';
  /** As many as a version without a bound has stored, a minute apart. */
  const stored = (projectId: string, status: 'succeeded' | 'failed', count: number) =>
    database.prisma.deploy.createMany({
      data: Array.from({ length: count }, (_, n) => {
        const createdAt = later(noon, n - 1_000_000);
        return { id: randomUUID(), projectId, status, upstream: `${upstream}${n}`, createdAt };
      }),
    });
  const report = ({ id }: GrantedProject, status: 'succeeded' | 'failed') =>
    createProjectStore(database.prisma).addDeploy(id, { status, upstream }, noon);
  const kept = async ({ id: projectId }: GrantedProject) => {
    const rows = await database.prisma.deploy.findMany({
      where: { projectId },
      orderBy: { createdAt: 'desc' },
    });
    return rows.map((row) => `${row.status} ${row.upstream.slice(upstream.length)}`);
  };

  it('are the newest hundred', async () => {
    const project = await aStoredProject(database.prisma);
    const other = await aStoredProject(database.prisma);
    await stored(project.id, 'succeeded', 150);
    await stored(other.id, 'succeeded', 150);
    await report(project, 'succeeded');
    const left = await kept(project);
    expect([left.length, left[0], left[1], left.at(-1)]).toEqual([
      100,
      'succeeded ',
      'succeeded 149',
      'succeeded 51',
    ]);
    expect(await kept(other)).toHaveLength(150);
  });

  it('and the one that visitors are sent to, however many failed since', async () => {
    const project = await aStoredProject(database.prisma);
    await stored(project.id, 'succeeded', 2);
    for (let n = 0; n < 102; n += 1) await report(project, 'failed');
    const left = await kept(project);
    expect([left.length, left.at(-1)]).toEqual([101, 'succeeded 1']);
    expect(new Set(left.slice(0, -1))).toEqual(new Set(['failed ']));
  });

  it('are no more where several are reported at once', async () => {
    const project = await aStoredProject(database.prisma);
    await stored(project.id, 'failed', 120);
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => report(project, n % 2 ? 'failed' : 'succeeded')),
    );
    expect(await kept(project)).toHaveLength(100);
  });
});
