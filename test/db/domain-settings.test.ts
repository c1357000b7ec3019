import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createDomainSettingsStore } from '../../src/db/domains/domain-settings.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

describe.each(databasesOfRun())('domain settings on $name', ({ name, available }) => {
  let stored: StoredDomains;

  beforeAll(async () => {
    if (available) stored = await openStoredDomains(name);
  });
  afterAll(() => stored?.close());

  async function aProject(...hostnames: readonly string[]) {
    const { prisma } = stored.database;
    const [settings, domains] = [createDomainSettingsStore(prisma), createDomainStore(prisma)];
    const slug = `p-${randomUUID()}`;
    const projects = createProjectStore(prisma);
    const project = await projects.create(wholeInstallation, {
      name: 'P',
      slug,
      plan: 'pro',
    });
    const projectId = project?.id ?? '';
    for (const hostname of hostnames) {
      await domains.add(
        wholeInstallation,
        { projectId, hostname, target: `${slug}.edge.test` },
        noon,
      );
    }
    const removedEvents = async () => {
      const where = { projectId, type: 'domain.removed' };
      const events = await prisma.event.findMany({ where, orderBy: { number: 'asc' } });
      return events.map(({ data }) => data);
    };
    return { projectId, projects, settings, domains, removedEvents };
  }

  const redirect = (from: string, to: string, status = 301) => ({ from, to, status });
  const nothing = { primary: null, redirects: [] };

  it.skipIf(!available)('are empty at first, also for an unknown project', async () => {
    const { settings, projectId } = await aProject('a.example');
    expect(await settings.load(wholeInstallation, projectId)).toEqual(nothing);
    expect(await settings.load(wholeInstallation, randomUUID())).toEqual(nothing);
  });

  it.skipIf(!available)('are replaced as a whole and keep their order', async () => {
    const { settings, projectId } = await aProject('a.example', 'b.example', 'c.example');
    const first = {
      primary: 'a.example',
      redirects: [redirect('c.example', 'a.example'), redirect('b.example', 'a.example', 308)],
    };
    expect(await settings.replace(wholeInstallation, projectId, first)).toBeNull();
    expect(await settings.load(wholeInstallation, projectId)).toEqual(first);
    expect(await settings.replace(wholeInstallation, projectId, first)).toBeNull();
    expect(await settings.load(wholeInstallation, projectId)).toEqual(first);
    const second = { primary: null, redirects: [redirect('a.example', 'c.example')] };
    expect(await settings.replace(wholeInstallation, projectId, second)).toBeNull();
    expect(await settings.load(wholeInstallation, projectId)).toEqual(second);
  });

  it.skipIf(!available)('are unchanged when invalid', async () => {
    const { settings, projectId } = await aProject('a.example', 'b.example');
    const good = { primary: 'a.example', redirects: [redirect('b.example', 'a.example')] };
    await settings.replace(wholeInstallation, projectId, good);
    const bad = { primary: null, redirects: [redirect('a.example', 'other.example')] };
    expect(await settings.replace(wholeInstallation, projectId, bad)).toMatchObject({
      code: 'settings_unknown_host',
    });
    expect(await settings.load(wholeInstallation, projectId)).toEqual(good);
  });

  it.skipIf(!available)('reject a removed domain and one of another project', async () => {
    const { settings, projectId, domains } = await aProject('a.example', 'gone.example');
    await aProject('theirs.example');
    await domains.remove(wholeInstallation, { projectId, hostname: 'gone.example' }, { at: noon });
    for (const primary of ['theirs.example', 'gone.example']) {
      expect(
        await settings.replace(wholeInstallation, projectId, { primary, redirects: [] }),
      ).toMatchObject({
        code: 'settings_unknown_host',
      });
    }
  });

  it.skipIf(!available)('block the removal of a domain that they lead to', async () => {
    const { settings, projectId, domains, removedEvents } = await aProject(
      'a.example',
      'b.example',
    );
    const kept = { primary: 'a.example', redirects: [redirect('b.example', 'a.example')] };
    await settings.replace(wholeInstallation, projectId, kept);
    expect(
      await domains.remove(wholeInstallation, { projectId, hostname: 'a.example' }, { at: noon }),
    ).toEqual({
      kind: 'in_use',
      primary: true,
      redirects: kept.redirects,
    });
    expect(await settings.load(wholeInstallation, projectId)).toEqual(kept);
    expect(await domains.find(wholeInstallation, projectId, 'a.example')).toMatchObject({
      epoch: 1,
      removedAt: null,
    });
    expect(await removedEvents()).toEqual([]);
  });

  it.skipIf(!available)('are dropped with a removed domain on request', async () => {
    const { settings, projectId, domains, removedEvents } = await aProject(
      'a.example',
      'b.example',
      'c.example',
      'd.example',
    );
    await settings.replace(wholeInstallation, projectId, {
      primary: 'a.example',
      redirects: [redirect('b.example', 'a.example', 307), redirect('d.example', 'c.example')],
    });
    const removed = await domains.remove(
      wholeInstallation,
      { projectId, hostname: 'a.example' },
      { at: noon, orphans: 'drop' },
    );
    expect(removed).toMatchObject({ kind: 'removed', epoch: 1 });
    const rest = { primary: null, redirects: [redirect('d.example', 'c.example')] };
    expect(await settings.load(wholeInstallation, projectId)).toEqual(rest);
    expect(await removedEvents()).toEqual([
      { primary: true, redirects: [redirect('b.example', 'a.example', 307)] },
    ]);
    expect(
      await domains.remove(
        wholeInstallation,
        { projectId, hostname: 'a.example' },
        { at: noon, orphans: 'drop' },
      ),
    ).toEqual({
      kind: 'removed_before',
    });
    expect(
      await domains.remove(
        wholeInstallation,
        { projectId, hostname: 'never.example' },
        { at: noon, orphans: 'drop' },
      ),
    ).toBeNull();
  });

  it.skipIf(!available)('drop the redirect of a removed redirecting domain', async () => {
    const { settings, projectId, domains, removedEvents } = await aProject(
      'a.example',
      'b.example',
    );
    await settings.replace(wholeInstallation, projectId, {
      primary: 'a.example',
      redirects: [redirect('b.example', 'a.example', 307)],
    });
    expect(
      await domains.remove(wholeInstallation, { projectId, hostname: 'b.example' }, { at: noon }),
    ).toMatchObject({ kind: 'removed' });
    expect(await settings.load(wholeInstallation, projectId)).toEqual({
      primary: 'a.example',
      redirects: [],
    });
    expect(await removedEvents()).toEqual([
      { primary: false, redirects: [redirect('b.example', 'a.example', 307)] },
    ]);
  });

  it.skipIf(!available)('are replaced by one of twelve concurrent calls', async () => {
    const hostnames = Array.from({ length: 12 }, (_, n) => `d${n}.example`);
    const { settings, projectId } = await aProject(...hostnames);
    const answers = await Promise.all(
      hostnames.map((primary) =>
        settings.replace(
          wholeInstallation,
          projectId,
          { primary, redirects: [] },
          (now) => now.primary === null,
        ),
      ),
    );
    const refused = answers.filter((one) => one?.code === 'precondition_failed');
    expect(refused).toHaveLength(11);
    const { primary } = await settings.load(wholeInstallation, projectId);
    expect(primary).toBe(hostnames[answers.indexOf(null)]);
  });

  it.skipIf(!available)('never name a removed domain after a concurrent removal', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { settings, projectId, projects, domains } = await aProject(
        'a.example',
        'b.example',
        'c.example',
      );
      const toA = { primary: 'a.example', redirects: [redirect('b.example', 'a.example')] };
      const toC = { primary: 'c.example', redirects: [redirect('a.example', 'c.example')] };
      await Promise.all([
        settings.replace(wholeInstallation, projectId, toA),
        domains.remove(wholeInstallation, { projectId, hostname: 'a.example' }, { at: noon }),
        settings.replace(wholeInstallation, projectId, toC),
        domains.remove(wholeInstallation, { projectId, hostname: 'b.example' }, { at: noon }),
        domains.remove(
          wholeInstallation,
          { projectId, hostname: 'a.example' },
          { at: noon, orphans: round % 2 === 0 ? 'drop' : 'refuse' },
        ),
      ]);
      const left = await projects.attachedDomains(wholeInstallation, projectId, 100);
      const { primary, redirects } = await settings.load(wholeInstallation, projectId);
      const named = [primary, ...redirects.flatMap(({ from, to }) => [from, to])];
      expect(named.filter((one) => one !== null && !left.includes(one))).toEqual([]);
    }
  });
});
