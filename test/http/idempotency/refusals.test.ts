import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../../src/core/access.ts';
import { isUnavailable } from '../../../src/db/engine/unavailable.ts';
import type { ApiResponse } from '../../../src/http/pipeline/errors.ts';
import { refuse } from '../../../src/http/pipeline/errors.ts';
import { noon } from '../../support/builders.ts';
import { databasesOfRun, storages } from '../../support/storage.ts';
import { anAttempt, type Fixture, made, making, openFixture } from './fixture.ts';

describe.each(databasesOfRun())(
  'A failing POST with an Idempotency-Key, on $name',
  ({ name, available }) => {
    let fixture: Fixture;

    beforeAll(async () => {
      if (available) fixture = await openFixture(name);
    });
    afterAll(() => fixture?.close());

    async function aProject(slug: string): Promise<string> {
      const project = await fixture.projects.create(wholeInstallation, {
        name: 'P',
        slug,
        plan: 'pro',
      });
      return project?.id ?? '';
    }

    /** Expects the same error twice; `refused` reports how often the handler ran. */
    async function expectKept(code: string, refused: () => Promise<ApiResponse>): Promise<void> {
      const attempt = anAttempt();
      let runs = 0;
      const run = async () => {
        runs += 1;
        return refused();
      };
      const first = await fixture.idempotency(attempt, run);
      expect(first.text).toContain(`"code":"${code}"`);
      const second = await fixture.idempotency(attempt, run);
      expect(second).toEqual({
        ...first,
        headers: { ...first.headers, 'idempotency-replayed': 'true' },
      });
      expect(runs).toBe(1);
    }

    it.skipIf(!available)('replays the error slug_taken', async () => {
      await aProject('taken');
      await expectKept('slug_taken', async () => {
        const project = await fixture.projects.create(wholeInstallation, {
          name: 'P',
          slug: 'taken',
          plan: 'pro',
        });
        return project === null ? refuse('slug_taken') : { status: 201 };
      });
    });

    it.skipIf(!available)('replays the error domain_exists', async () => {
      const projectId = await aProject('with-domain');
      const domain = { projectId, hostname: 'docs.shop.test', target: 'x.edge.test' };
      await fixture.domains.add(wholeInstallation, domain, noon);
      await expectKept('domain_exists', async () =>
        (await fixture.domains.add(wholeInstallation, domain, noon)) === null
          ? refuse('domain_exists')
          : { status: 201 },
      );
      const id =
        (await fixture.domains.find(wholeInstallation, projectId, 'docs.shop.test'))?.id ?? '';
      expect(await fixture.database.prisma.event.count({ where: { domainId: id } })).toBe(1);
    });

    it.skipIf(!available)('replays the error after a failed statement', async () => {
      const { prisma } = fixture.database;
      await aProject('failed-statement');
      await expectKept('slug_taken', async () => {
        const row = { id: randomUUID(), name: 'P', slug: 'failed-statement' };
        const created = await prisma.project.create({ data: row }).catch(() => null);
        return created === null ? refuse('slug_taken') : { status: 201 };
      });
    });

    it.skipIf(!available)('has no effect', async () => {
      await expectKept('deploy_required', async () => {
        await making(fixture, 'refused')();
        return refuse('deploy_required');
      });
      expect(await made(fixture, 'refused')).toBe(0);
    });

    it.skipIf(!available).each(['too_many_domains', 'unavailable', 'internal_error'] as const)(
      'runs again after %s',
      async (code) => {
        const attempt = anAttempt();
        const slug = `after-${code.replaceAll('_', '-')}`;
        const refused = await fixture.idempotency(attempt, async () => {
          await making(fixture, slug)();
          return refuse(code);
        });
        expect(refused.text).toContain(`"code":"${code}"`);
        expect(await made(fixture, slug)).toBe(0);
        const again = await fixture.idempotency(attempt, making(fixture, slug));
        expect(again.status).toBe(201);
        expect(await made(fixture, slug)).toBe(1);
      },
    );

    it.skipIf(!available)('leaves nothing behind when its response cannot be stored', async () => {
      const { prisma } = fixture.database;
      await prisma.$executeRaw`ALTER TABLE idempotent_answer ADD CONSTRAINT kept CHECK (key <> 'lost')`;
      const attempt = anAttempt({ key: 'lost' });
      const failing = fixture.idempotency(attempt, making(fixture, 'lost'));
      await expect(failing).rejects.toThrow('23514');
      expect(await made(fixture, 'lost')).toBe(0);
    });

    /** How a handler fails after its effect. */
    const faults: readonly [what: string, breaks: () => Promise<unknown>][] = [
      ['a fault', () => Promise.reject(new Error('on purpose'))],
      [
        'a failed statement that it overlooked',
        () => fixture.database.prisma.$queryRaw`SELECT 1 / 0`.catch(() => {}),
      ],
    ];
    it.skipIf(!available).each(faults)(
      'leaves nothing behind after %s, and runs again',
      async (what, breaks) => {
        const attempt = anAttempt();
        const slug = what.replaceAll(' ', '-');
        let after = 0;
        const afterCommit = async () => {
          after += 1;
        };
        const failing = fixture.idempotency(attempt, async () => {
          const answer = await making(fixture, slug)();
          await breaks();
          return { ...answer, afterCommit };
        });
        await expect(failing).rejects.toThrow();
        expect(await made(fixture, slug)).toBe(0);
        const again = await fixture.idempotency(attempt, async () => ({
          ...(await making(fixture, slug)()),
          afterCommit,
        }));
        expect(again.status).toBe(201);
        expect(await made(fixture, slug)).toBe(1);
        expect(after).toBe(1);
      },
    );
  },
);

const postgres = storages.find(({ name }) => name === 'postgres');

describe.skipIf(!postgres?.available)(
  'A POST with an Idempotency-Key whose connection breaks',
  () => {
    it('leaves nothing behind, reports that, and runs again', async () => {
      const fixture = await openFixture('postgres');
      const attempt = anAttempt();
      const failing = fixture.idempotency(attempt, async () => {
        const answer = await making(fixture, 'cut')();
        await fixture.database.prisma.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`;
        return answer;
      });
      expect(isUnavailable(await failing.catch((fault: unknown) => fault))).toBe(true);
      expect(await made(fixture, 'cut')).toBe(0);
      const again = await fixture.idempotency(attempt, making(fixture, 'cut'));
      expect(again.status).toBe(201);
      await fixture.close();
    });
  },
);
