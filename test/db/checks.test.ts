/** Loading and saving checks: batched, prepared, and with observations cached in memory. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { type CheckStore, createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave } from '../../src/db/domains/transitions.ts';
import { transact } from '../../src/db/engine/transaction.ts';
import {
  aCheckSave,
  anObservation,
  later,
  missing,
  noon,
  right,
  unknown,
} from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

function observed(nth: number): Observation {
  return { ...anObservation(), cost: { questions: nth, bytes: 1, ms: 1 } };
}

function saveOf(
  domain: LoadedDomain,
  observation: Observation,
  { verdict, findings }: Pick<Diagnosis, 'verdict' | 'findings'>,
  at = later(noon, 60_000),
): CheckSave {
  return aCheckSave(domain, { verdict, findings }, at, observation);
}

describe.each(databasesOfRun().filter(({ available }) => available))(
  'checks on $name',
  ({ name }) => {
    let stored: StoredDomains;
    /** Two processes on one database, each with its own cache. */
    let one: CheckStore;
    let other: CheckStore;

    beforeAll(async () => {
      stored = await openStoredDomains(name);
      one = createCheckStore(stored.database);
      other = createCheckStore(stored.database);
    });
    afterAll(() => stored.close());

    async function loaded(store: CheckStore, { id }: { id: string }): Promise<LoadedDomain> {
      const domain = await store.load(id);
      if (domain === undefined) throw new Error('no such domain');
      return domain;
    }

    it('load with every time, finding and observation', async () => {
      const domain = await stored.pending('all.shop.test');
      const save = saveOf(domain, observed(7), missing);
      expect(await one.save(save)).toEqual({ kind: 'saved', epoch: 1 });
      const expected = {
        ...domain,
        version: 1,
        attempts: 1,
        findings: missing.findings,
        observation: observed(7),
        lastCheckedAt: save.at,
        nextCheckAt: save.change.nextCheckAt,
      };
      expect(await loaded(one, domain)).toEqual(expected);
      expect(await loaded(other, domain)).toEqual(expected);
    });

    it('return the same observation object until another one is stored', async () => {
      const domain = await stored.pending('same.shop.test');
      await one.save(saveOf(domain, observed(1), missing));
      const first = await loaded(one, domain);
      // A check with the same result returns the loaded objects; only times and the count change.
      expect(first.observation).not.toBeNull();
      await one.save(
        saveOf(first, first.observation ?? observed(0), missing, later(noon, 120_000)),
      );
      const second = await loaded(one, domain);
      expect(second.observation).toBe(first.observation);
      expect(second.attempts).toBe(2);
      expect(await stored.events(domain)).toEqual(['domain.added', 'domain.findings_changed']);
    });

    it('never lose an event: only changed findings fit a check without a change of status', async () => {
      const domain = await stored.pending('events.shop.test');
      const save = saveOf(domain, observed(1), missing);
      const ended = { type: 'certificate.ended', expiresAt: noon } as const;
      const events = [...save.change.events, ended];
      await expect(one.save({ ...save, change: { ...save.change, events } })).rejects.toThrow();
      expect((await loaded(one, domain)).version).toBe(0);
      expect(await stored.events(domain)).toEqual(['domain.added']);
    });

    it('never use an observation that another process has replaced', async () => {
      const domain = await stored.pending('replaced.shop.test');
      for (let round = 1; round <= 4; round += 1) {
        const [writer, reader] = round % 2 === 0 ? [one, other] : [other, one];
        await loaded(reader, domain); // holds what was stored until now
        const diagnosis = round % 2 === 0 ? missing : unknown;
        const save = saveOf(await loaded(writer, domain), observed(round), diagnosis);
        expect(await writer.save(save)).toEqual({ kind: 'saved', epoch: 1 });
        const [read, written] = [await loaded(reader, domain), await loaded(writer, domain)];
        expect(read.observation).toEqual(observed(round));
        expect(read.findings).toEqual(diagnosis.findings);
        expect(written).toEqual(read);
      }
    });

    it('let one of two processes save; the other gets `stale`', async () => {
      const domain = await stored.pending('both.shop.test');
      const [mine, theirs] = await Promise.all([loaded(one, domain), loaded(other, domain)]);
      const results = await Promise.all([
        one.save(saveOf(mine, observed(1), missing)),
        other.save(saveOf(theirs, observed(2), unknown)),
      ]);
      expect(results.map(({ kind }) => kind).sort()).toEqual(['saved', 'stale']);
      const winner = results[0].kind === 'saved' ? 1 : 2;
      const [here, there] = [await loaded(one, domain), await loaded(other, domain)];
      expect(here.observation).toEqual(observed(winner));
      expect(there).toEqual(here);
    });

    it('behave with two processes as with one', async () => {
      const domain = await stored.pending('turns.shop.test');
      let last: Observation | null = null;
      for (let turn = 0; turn < 24; turn += 1) {
        const store = (turn * 7) % 3 === 0 ? one : other;
        const now = await loaded(store, domain);
        expect({ observation: now.observation, attempts: now.attempts }).toEqual({
          observation: last,
          attempts: turn,
        });
        // Every fourth check has another result.
        last = turn % 4 === 0 || now.observation === null ? observed(turn) : now.observation;
        const findings = turn % 8 === 0 ? unknown.findings : missing.findings;
        const save = saveOf(now, last, { verdict: 'unknown', findings });
        expect((await store.save(save)).kind).toBe('saved');
      }
    });

    it('are stale and unchanged when loaded before another save', async () => {
      const domain = await stored.pending('late.shop.test');
      const save = saveOf(domain, observed(1), missing);
      await one.save(save);
      const before = await loaded(one, domain);
      expect(await one.save(save)).toEqual({ kind: 'stale' });
      expect(await one.save(saveOf(before, observed(2), right))).toMatchObject({ kind: 'saved' });
      const verified = await loaded(one, domain);
      expect(verified.state.status).toBe('verified');
      expect(verified.observation).toEqual(observed(2));
      const asBefore = { ...before, version: verified.version };
      expect(await one.save(saveOf(asBefore, observed(3), missing))).toEqual({ kind: 'stale' });
      expect(await loaded(other, domain)).toEqual(verified);
    });

    it('count the first of two checks of one job at the same time', async () => {
      const domain = await stored.pending('twice.shop.test');
      const saves = [1, 2].map((nth) => one.save(saveOf(domain, observed(nth), missing)));
      const kinds = (await Promise.all(saves)).map(({ kind }) => kind);
      expect(kinds).toEqual(['saved', 'stale']);
      expect((await loaded(one, domain)).observation).toEqual(observed(1));
    });

    it('load in bulk without removed or unknown domains', async () => {
      const domains = await Promise.all(
        Array.from({ length: 20 }, (_, nth) => stored.pending(`many-${nth}.shop.test`)),
      );
      const removed = domains[3];
      await stored.database.prisma.domain.update({
        where: { id: removed?.id ?? '' },
        data: { removedAt: noon },
      });
      const nobody = '00000000-0000-4000-8000-0000000000ff';
      const ids = [...domains.map(({ id }) => id), nobody, domains[0]?.id ?? ''];
      const found = await Promise.all(ids.map((id) => one.load(id)));
      expect(found.map((domain) => domain?.id)).toEqual(
        ids.map((id) => (id === nobody || id === removed?.id ? undefined : id)),
      );
    });

    it('fail only for the one that the database cannot store', async () => {
      const domains = await Promise.all(
        ['x', 'y', 'z'].map((label) => stored.pending(`${label}.poison.test`)),
      );
      const results = await Promise.allSettled(
        domains.map((domain, nth) => {
          // PostgreSQL's jsonb does not support U+0000.
          const observation = { ...observed(nth), hostname: nth === 1 ? '\u0000' : 'x' };
          return one.save(saveOf(domain, observation, missing));
        }),
      );
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      const counts = await Promise.all(
        domains.map(async (each) => (await loaded(one, each)).attempts),
      );
      expect(counts).toEqual([1, 0, 1]);
    });

    it('join the caller’s transaction and cache nothing of one that was rolled back', async () => {
      const domain = await stored.pending('undone.shop.test');
      const { prisma } = stored.database;
      const undone = transact(prisma, async () => {
        await one.save(saveOf(await loaded(one, domain), observed(1), missing));
        const inside = await loaded(one, domain);
        expect(inside.observation).toEqual(observed(1));
        await one.save(saveOf(inside, inside.observation ?? observed(0), missing));
        expect((await loaded(one, domain)).attempts).toBe(2);
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      expect(await loaded(one, domain)).toEqual(domain);
    });
  },
);
