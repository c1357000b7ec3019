/** Which names workers are notified of that watch, and of which not; and that they know when they may have missed one. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../../src/core/diagnosis/diagnosis.ts';
import { createWatchedDomainStore } from '../../../src/db/domains/watched-domains.ts';
import {
  listenForWatchNotifications,
  type WatchNotification,
} from '../../../src/db/watch/watch-notifications.ts';
import { createWatchedNameStore } from '../../../src/db/watch/watched-names.ts';
import { anObservation, later, missing, noon, right } from '../../support/builders.ts';
import { closeAfterEach } from '../../support/closings.ts';
import { databases, storages } from '../../support/storage.ts';
import { until } from '../../support/world.ts';
import { openStoredOrders, type StoredOrders } from '../stored-orders.ts';

const HOUR = 3_600_000;
const issued = { chain: 'PEM', issuer: 'CA', issuedAt: noon, expiresAt: later(noon, 90 * HOUR) };
const here = anObservation();
const elsewhere = anObservation({
  cname: { kind: 'nodata' },
  a: { kind: 'records', records: ['192.0.2.80'], ttlSeconds: 60 },
});
const closings = closeAfterEach();

function listenTo({ database }: Pick<StoredOrders, 'database'>) {
  const received: WatchNotification[] = [];
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const { close } = listenForWatchNotifications({
    database,
    log,
    onNotification: (notification) => received.push(notification),
  });
  closings.push(close);
  const starts = () => received.filter(({ kind }) => kind === 'listening').length;
  return { received, starts, lines, close };
}

describe.each(databases)('on $name, workers that watch', ({ name, available }) => {
  let db: StoredOrders;
  let count = 0;
  beforeAll(async () => {
    if (available) db = await openStoredOrders(name);
  });
  afterAll(() => db?.close());

  const notify = (payload: string) =>
    db.database.pool.query(`SELECT pg_notify('signpost_watch', $1)`, [payload]);

  /** The names that they are notified of by an act, each as often as it is. */
  async function notifiedBy(act: () => Promise<unknown>): Promise<string[]> {
    const { received, starts, close } = listenTo(db);
    await until('listening', async () => starts() > 0);
    await act();
    count += 1;
    await notify(`0 end-${count}`);
    const ids = () => received.flatMap((one) => (one.kind === 'changed' ? [one.id] : []));
    await until('the end', async () => ids().includes(`end-${count}`));
    await close();
    return ids().slice(0, -1);
  }

  async function check(id: string, diagnosis: Diagnosis, at = noon, seen = here) {
    await db.check(await db.load(id), diagnosis, at, undefined, seen);
  }

  /** A live domain, its DNS right. */
  async function live(hostname: string) {
    const { domain, order } = await db.anOrder(hostname);
    await db.certificates.store(domain, order.id, issued, noon);
    return domain;
  }

  it.skipIf(!available)(
    'are notified of the first check, and then of what servers show else',
    async () => {
      const { id } = await db.pending('first.acme.test');
      const first = await notifiedBy(() => check(id, missing, noon, here));
      expect(first).toEqual([id]);
      const same = await notifiedBy(async () => {
        await check(id, missing, later(noon, 1), anObservation()); // as full as the first
        await check(id, missing, later(noon, 2), (await db.load(id)).observation ?? here); // light
        await check(id, { ...missing, findings: [] }, later(noon, 3), anObservation());
      });
      expect(same).toEqual([]);
      expect(await notifiedBy(() => check(id, missing, later(noon, 4), elsewhere))).toEqual([id]);
    },
  );

  it.skipIf(!available)('are not notified of a check that saw nothing to watch', async () => {
    const { id } = await db.pending('resolvers.acme.test');
    const recursive = { ...here, view: 'recursive' } as const;
    expect(await notifiedBy(() => check(id, missing, noon, recursive))).toEqual([]);
    expect(await notifiedBy(() => check(id, missing, later(noon, 1), here))).toEqual([id]);
    expect(await notifiedBy(() => check(id, missing, later(noon, 2), recursive))).toEqual([id]);
  });

  it.skipIf(!available)('are notified of each state that is watched, or was', async () => {
    const hostname = 'life.acme.test';
    const { id, projectId } = await db.pending(hostname);
    await check(id, missing);
    expect(await notifiedBy(() => check(id, right))).toEqual([id]);
    const verified = await db.load(id);
    const order = await db.newOrder(verified);
    const again = () => check(id, right, later(noon, 1), elsewhere);
    expect(await notifiedBy(again)).toEqual([]); // verified: an order is under way
    const store = () => db.certificates.store(verified, order?.id ?? '', issued, noon);
    expect(await notifiedBy(store)).toEqual([id]);
    const miss = () => check(id, missing, later(noon, HOUR), elsewhere);
    expect(await notifiedBy(miss)).toEqual([]);
    const drift = () => check(id, missing, later(noon, 2 * HOUR), elsewhere);
    expect(await notifiedBy(drift)).toEqual([id]);
    expect((await db.load(id)).state.status).toBe('drifted');
    expect(await notifiedBy(() => check(id, right, later(noon, 3 * HOUR), here))).toEqual([id]);
    expect(await notifiedBy(() => db.domains.remove(projectId, hostname, noon))).toEqual([id]);
    const claim = { projectId, hostname, target: 'x.edge.test', claimNonce: 'n' };
    expect(await notifiedBy(() => db.domains.add(claim, noon))).toEqual([id]);
  });

  it.skipIf(!available)('are notified of a window that begins again', async () => {
    const { id, projectId, hostname } = await db.pending('again.acme.test');
    await check(id, missing);
    const verify = () =>
      db.domains.requestVerify(projectId, hostname, later(noon, HOUR), 48 * HOUR);
    expect(await notifiedBy(verify)).toEqual([id]);
    const [name] = await createWatchedNameStore(db.database).find([id]);
    expect(name?.since).toBe(later(noon, HOUR).getTime());
  });

  it.skipIf(!available)('are notified of a name that goes over to another project', async () => {
    const hostname = 'moves.acme.test';
    const holder = await live(hostname);
    const claimant = await db.pending(hostname);
    await check(claimant.id, missing);
    const notified = await notifiedBy(() => check(claimant.id, right));
    expect(notified.toSorted()).toEqual([claimant.id, holder.id].toSorted());
  });

  it.skipIf(!available)('are notified of a row that is deleted', async () => {
    const { id } = await db.pending('deleted.acme.test');
    await check(id, missing);
    const { pool } = db.database;
    const forget = async () => {
      await pool.query('DELETE FROM event WHERE domain_id = $1', [id]);
      await pool.query('DELETE FROM domain WHERE id = $1', [id]);
    };
    expect(await notifiedBy(forget)).toEqual([id]);
  });

  it.skipIf(!available)(
    'are not notified of a check that moves, or of who watches a page',
    async () => {
      const { id } = await live('served.acme.test');
      const pending = await db.pending('page.acme.test');
      await check(pending.id, missing);
      const names = createWatchedNameStore(db.database);
      const pages = createWatchedDomainStore(db.database.prisma);
      const notified = await notifiedBy(async () => {
        expect(await names.bringForward([id], noon)).toEqual([id]);
        expect(await pages.watch([pending.id], later(noon, HOUR))).toHaveLength(1);
      });
      expect(notified).toEqual([]);
    },
  );

  it.skipIf(!available)('are not notified of a live domain that stays live', async () => {
    const { id, projectId, hostname } = await live('renewed.acme.test');
    const served = await db.load(id);
    const order = await db.newOrder(served);
    const renewed = { ...issued, expiresAt: later(issued.expiresAt, HOUR) };
    const at = later(noon, HOUR);
    const notified = await notifiedBy(async () => {
      await db.certificates.store(served, order?.id ?? '', renewed, at);
      await db.domains.requestVerify(projectId, hostname, at, 48 * HOUR);
    });
    expect(notified).toEqual([]);
    const { state, certificateEndsAt } = await db.load(id);
    expect({ status: state.status, certificateEndsAt }).toEqual({
      status: 'live',
      certificateEndsAt: renewed.expiresAt,
    });
  });

  it.skipIf(!available)('are given the shard that the name is read by', async () => {
    const { received, starts } = listenTo(db);
    await until('listening', async () => starts() > 0);
    const { id } = await db.pending('shard.acme.test');
    await check(id, missing);
    const shardOf = () => received.find((one) => one.kind === 'changed' && one.id === id);
    await until('the notification', async () => shardOf() !== undefined);
    const notified = shardOf();
    if (notified?.kind !== 'changed') throw new Error('it is one of a changed name');
    const ids: string[] = [];
    const names = createWatchedNameStore(db.database);
    for await (const batch of names.load([notified.shard], new AbortController().signal)) {
      ids.push(...batch.map((one) => one.id));
    }
    expect(ids).toContain(id);
  });

  it.skipIf(!available)(
    'start over where they cannot read one, and skip those of others',
    async () => {
      const { received, starts } = listenTo(db);
      await until('listening', async () => starts() > 0);
      await db.database.pool.query(`SELECT pg_notify('signpost_edge', '1 fishing')`);
      for (const [nth, payload] of ['gone fishing', '256 id', '-1 id', '7', ''].entries()) {
        await notify(payload);
        await until(payload, async () => starts() === nth + 2);
      }
      expect(received.every(({ kind }) => kind === 'listening')).toBe(true);
    },
  );
});

const [postgres] = storages.filter((storage) => storage.name === 'postgres' && storage.available);

describe.skipIf(postgres === undefined)('on PostgreSQL, a worker that watches', () => {
  it('starts over where its connection was lost', async () => {
    const db = await openStoredOrders('postgres');
    closings.push(db.close);
    const { starts, lines } = listenTo(db);
    await until('listening', async () => starts() > 0);
    await db.database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE query = 'LISTEN signpost_watch' AND datname = current_database()`,
    );
    await until('it starts over', async () => starts() > 1 && lines.length > 1);
    expect(lines).toEqual([
      'notifications of watched names do not arrive',
      'notifications of watched names arrive again',
    ]);
  });
});
