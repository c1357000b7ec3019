/** Bulk writes do not deadlock on servers with several connections. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import { type CheckStore, createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createWatchedDomainStore } from '../../src/db/domains/watched-domains.ts';
import {
  aCheckSave,
  anObservation,
  later,
  missing,
  noon,
  right,
  unknown,
} from '../support/builders.ts';
import { storages } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { until } from '../support/world.ts';

const servers = storages.filter(({ name, available }) => name === 'postgres' && available);

describe.each(servers)('bulk writes of domains on $name', ({ name }) => {
  let stored: StoredDomains;
  let checks: CheckStore;
  let other: pg.PoolClient;

  beforeAll(async () => {
    stored = await openStoredDomains(name);
    checks = createCheckStore(stored.database);
    other = await stored.database.pool.connect();
  });
  afterAll(async () => {
    other.release();
    await stored.close();
  });

  /** The higher ID was written first, so only explicit ordering locks the lower one first. */
  async function laterAndEarlier(label: string): Promise<readonly [LoadedDomain, LoadedDomain]> {
    let first = await stored.pending(`${label}0.shop.test`);
    for (let nth = 1; ; nth += 1) {
      const second = await stored.pending(`${label}${nth}.shop.test`);
      if (second.id < first.id) return [first, second];
      first = second;
    }
  }

  /** Domains of two projects with one name, the lower ID first. */
  async function namesakes(hostname: string): Promise<readonly [LoadedDomain, LoadedDomain]> {
    const [one, two] = [await stored.pending(hostname), await stored.pending(hostname)];
    return one.id < two.id ? [one, two] : [two, one];
  }

  const lock = (id: string) => other.query('SELECT FROM domain WHERE id = $1 FOR UPDATE', [id]);

  function save(
    domain: LoadedDomain,
    { verdict, findings }: Pick<Diagnosis, 'verdict' | 'findings'>,
  ) {
    const observation = domain.observation ?? anObservation();
    return checks.save(aCheckSave(domain, { verdict, findings }, later(noon, 60_000), observation));
  }

  const somebodyWaitsForALock = () => waitingForLocks(1);
  async function waitingForLocks(count: number): Promise<void> {
    await until(`${count} wait`, async () => {
      const { rows } = await stored.database.pool.query(`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return rows.length >= count;
    });
  }

  it.each(['news', 'nothing new'])('lock in one order with %s', async (what) => {
    let domains = await laterAndEarlier(what.slice(0, 3));
    if (what === 'nothing new') {
      for (const domain of domains) await save(domain, missing);
      domains = [await stored.load(domains[0].id), await stored.load(domains[1].id)];
    }
    await other.query('BEGIN');
    await lock(domains[1].id);
    const saves = Promise.all(domains.toReversed().map((domain) => save(domain, missing)));
    await somebodyWaitsForALock();
    // A lock on the earlier row then also gets the later one: the batch has not locked that first.
    await other.query(`SELECT FROM domain WHERE id = '${domains[0].id}' FOR UPDATE NOWAIT`);
    await other.query('COMMIT');
    expect((await saves).map(({ kind }) => kind)).toEqual(['saved', 'saved']);
  });

  it.each(['its holder', 'the claimant'])(
    'do not deadlock if %s is locked first',
    async (first) => {
      const [low, high] = await namesakes(`${first.replace(' ', '-')}.shop.test`);
      const [holder, claimant] = first === 'its holder' ? [low, high] : [high, low];
      await stored.check(holder, right);
      await other.query('BEGIN');
      await lock(low.id);
      const move = stored.check(claimant, right, later(noon, 60_000));
      await somebodyWaitsForALock();
      await other.query(`SELECT FROM domain WHERE id = '${high.id}' FOR UPDATE NOWAIT`);
      await other.query('COMMIT');
      expect(await move).toMatchObject({ kind: 'saved', lost: { id: holder.id } });
    },
  );

  it("do not deadlock with a claim of another domain's name", async () => {
    const [claimant, holder] = await namesakes('both.shop.test');
    await stored.check(holder, right);
    const held = await stored.load(holder.id);
    await other.query('BEGIN');
    await lock(claimant.id);
    const saves = Promise.all([claimant, held].map((domain) => save(domain, unknown)));
    await waitingForLocks(1);
    const claim = stored.check(claimant, right, later(noon, 60_000));
    await waitingForLocks(2);
    await other.query('COMMIT');
    // The checks waited first; the claim is then stale, which is not a fault of its job.
    expect((await saves).map(({ kind }) => kind)).toEqual(['saved', 'saved']);
    expect(await claim).toEqual({ kind: 'stale' });
  });

  it('skip a domain in progress when watched', async () => {
    const [one, two] = await laterAndEarlier('watched');
    const watch = () =>
      createWatchedDomainStore(stored.database.prisma).watch(
        wholeInstallation,
        [one.id, two.id],
        later(noon, 30_000),
      );
    await other.query('BEGIN');
    await lock(two.id);
    expect((await watch()).map(({ id }) => id)).toEqual([one.id]);
    await other.query('COMMIT');
    expect(await watch()).toHaveLength(2);
  });
});
