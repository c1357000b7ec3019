import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY } from '../../../src/core/time.ts';
import { inTransaction } from '../../../src/db/engine/transaction.ts';
import type { ApiResponse } from '../../../src/http/pipeline/errors.ts';
import { refuse } from '../../../src/http/pipeline/errors.ts';
import { ANSWERS_KEPT_MS } from '../../../src/http/pipeline/idempotency.ts';
import { later, noon } from '../../support/builders.ts';
import { databasesOfRun, storages } from '../../support/storage.ts';
import { anAttempt, type Fixture, made, making, openFixture } from './fixture.ts';

describe.each(databasesOfRun())(
  'A POST with an Idempotency-Key, on $name',
  ({ name, available }) => {
    let fixture: Fixture;

    beforeAll(async () => {
      if (available) fixture = await openFixture(name);
    });
    afterAll(() => fixture?.close());

    /** Returns the response as sent, without the work after it. */
    const twice = async (attempt = anAttempt(), run: () => Promise<ApiResponse>) => [
      await fixture.idempotency(attempt, run),
      await fixture.idempotency(attempt, run),
    ];

    it.skipIf(!available)(
      'takes effect once and returns the same response every time',
      async () => {
        const [first, second] = await twice(anAttempt(), making(fixture, 'once'));
        expect(first).toMatchObject({ status: 201, headers: { location: expect.any(String) } });
        expect(first?.text).toContain('"at":"2026-11-20T12:00:00.000Z","big":9223372036854775807}');
        expect(second?.status).toBe(201);
        expect(second?.text).toBe(first?.text);
        expect(second?.headers).toEqual({ ...first?.headers, 'idempotency-replayed': 'true' });
        expect(await made(fixture, 'once')).toBe(1);
      },
    );

    it
      .skipIf(!available)
      .each<[what: string, differs: Parameters<typeof anAttempt>[0], code: string | null]>([
        ['another body', { request: 'another request' }, 'idempotency_key_reused'],
        ['another API key', { apiKeyId: 'key-2' }, null],
        ['another operation', { operationId: 'createDeploy' }, null],
        ['another Idempotency-Key', { key: 'another' }, null],
      ])('with %s is another request', async (what, differs, code) => {
      const slug = what.toLowerCase().replaceAll(' ', '-');
      const attempt = { key: `key for ${what}` };
      await fixture.idempotency(anAttempt(attempt), making(fixture, `first-${slug}`));
      const other = anAttempt({ ...attempt, ...differs });
      const answer = await fixture.idempotency(other, making(fixture, slug));
      if (code === null) expect(answer.status).toBe(201);
      else expect(answer).toMatchObject({ status: 422, body: { code, status: 422 } });
      expect(await made(fixture, slug)).toBe(code === null ? 1 : 0);
    });

    it.skipIf(!available)(
      'is rejected while the first one runs, and replayed afterwards',
      async () => {
        const attempt = anAttempt();
        const other = anAttempt();
        let meanwhile: ApiResponse | undefined;
        let reused: ApiResponse | undefined;
        const run = async () => {
          meanwhile = await fixture.idempotency(attempt, making(fixture, 'twin'));
          reused = await fixture.idempotency(
            { ...other, key: attempt.key },
            making(fixture, 'twin'),
          );
          return making(fixture, 'twin')();
        };
        const first = await fixture.idempotency(attempt, run);
        for (const refused of [meanwhile, reused]) {
          expect(refused).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } });
          expect(refused?.headers).toEqual({ 'retry-after': '1' });
        }
        const again = await fixture.idempotency(attempt, run);
        expect(again.text).toBe(first.text);
        expect(await made(fixture, 'twin')).toBe(1);
      },
    );

    it.skipIf(!available)('runs again when its response is a day old', async () => {
      const attempt = anAttempt();
      await fixture.idempotency(attempt, making(fixture, 'day-1'));
      fixture.clock.now = later(noon, DAY - 1);
      const kept = await fixture.idempotency(attempt, making(fixture, 'day-2'));
      expect(kept.text).toContain('"slug":"day-1"');
      fixture.clock.now = later(noon, DAY);
      const fresh = await fixture.idempotency(attempt, making(fixture, 'day-2'));
      expect(fresh.text).toContain('"slug":"day-2"');
      const again = await fixture.idempotency(attempt, making(fixture, 'day-2'));
      expect(again.text).toBe(fresh.text);
      fixture.clock.now = noon;
    });

    it.skipIf(!available)('replays an empty response as empty', async () => {
      const [first, second] = await twice(anAttempt(), async () => ({ status: 204 }));
      expect(first).toEqual({ status: 204 });
      expect(second).toEqual({ status: 204, headers: { 'idempotency-replayed': 'true' } });
    });

    it.skipIf(!available)('does not store a response that can be shown only once', async () => {
      const [first, second] = await twice(anAttempt(), async () => ({
        status: 201,
        body: { id: 'a', secret: 'shown once' },
        replayBody: { id: 'a' },
      }));
      expect(first?.text).toBe('{"id":"a","secret":"shown once"}');
      expect(second?.text).toBe('{"id":"a"}');
      expect(first).not.toHaveProperty('replayBody');
      const rows = await fixture.database.prisma.idempotentAnswer.findMany();
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain('shown once');
    });

    it.skipIf(!available)('runs its after-commit work once, after the commit', async () => {
      const { pool } = fixture.database;
      const seen: number[] = [];
      const run = async () => ({
        ...(await making(fixture, 'then')()),
        // Another connection sees only committed data.
        afterCommit: async () => {
          const { rows } = await pool.query(`SELECT 1 FROM project WHERE slug = 'then'`);
          seen.push(rows.length);
          expect(inTransaction()).toBe(false);
        },
      });
      const [first] = await twice(anAttempt(), run);
      expect(seen).toEqual([1]);
      expect(first).not.toHaveProperty('afterCommit');
    });

    it.skipIf(!available)('deletes up to ten expired responses for each stored one', async () => {
      const { prisma } = fixture.database;
      await prisma.idempotentAnswer.deleteMany();
      const row = { apiKeyId: 'old', operationId: 'createPet', fingerprint: new Uint8Array(32) };
      await prisma.idempotentAnswer.createMany({
        data: Array.from({ length: 15 }, (_, index) => ({
          ...row,
          key: `expired-${index}`,
          status: 204,
          headers: {},
          expiresAt: later(noon, -1_000 * index),
        })),
      });
      const left = () => prisma.idempotentAnswer.count({ where: { apiKeyId: 'old' } });
      const counts: number[] = [];
      for (let index = 0; index < 3; index++) {
        await fixture.idempotency(anAttempt(), async () => refuse('deploy_required'));
        counts.push(await left());
      }
      expect(counts).toEqual([5, 0, 0]);
      expect(await prisma.idempotentAnswer.count()).toBe(3);
    });
  },
);

const postgres = storages.find(({ name }) => name === 'postgres');

describe.skipIf(!postgres?.available)('An Idempotency-Key sent to two processes', () => {
  let here: Fixture;
  let there: Fixture;

  beforeAll(async () => {
    here = await openFixture('postgres');
    there = await here.another();
  });
  afterAll(() => here?.close());

  it('is rejected while the first request runs in the other process, and replayed afterwards', async () => {
    const attempt = anAttempt();
    const first = await here.idempotency(attempt, async () => {
      const meanwhile = await there.idempotency(attempt, making(there, 'across'));
      expect(meanwhile).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } });
      return making(here, 'across')();
    });
    const again = await there.idempotency(attempt, making(there, 'across'));
    expect(again.text).toBe(first.text);
    expect(await made(here, 'across')).toBe(1);
  });
});

it('docs/integrate/api.md says how long responses are stored', async () => {
  const page = await readFile(new URL('../../../docs/integrate/api.md', import.meta.url), 'utf8');
  expect(page).toContain(`kept for ${ANSWERS_KEPT_MS / 3_600_000} hours`);
});
