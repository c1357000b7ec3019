/** Which changes notify edges, and how a listener detects that notifications are missing. */

import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { RouteNotification } from '../../src/core/operations/edge-route.ts';
import { HOUR } from '../../src/core/time.ts';
import { createDeployStore } from '../../src/db/deploys.ts';
import { createDomainSettingsStore } from '../../src/db/domains/domain-settings.ts';
import {
  listenForRouteNotifications,
  type RouteNotificationDeps,
} from '../../src/db/domains/route-notifications.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { later, missing, noon, right } from '../support/builders.ts';
import { closeAfterEach } from '../support/closings.ts';
import { databases, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { openStoredOrders, type StoredOrders } from './stored-orders.ts';

const issued = {
  chain: 'PEM',
  issuer: 'Test CA',
  issuedAt: noon,
  expiresAt: later(noon, 90 * 24 * HOUR),
};
const closings = closeAfterEach();

/** Listens and records notifications, heartbeats separately. */
function listenTo(deps: Omit<RouteNotificationDeps, 'onNotification' | 'log'>) {
  const received: RouteNotification[] = [];
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const kinds = () => received.map(({ kind }) => kind);
  const { close } = listenForRouteNotifications({
    ...deps,
    log,
    onNotification: (notification) => received.push(notification),
  });
  closings.push(close);
  return { received, kinds, lines, close };
}

/** One line, or none for a subscription state. */
function inWords(change: RouteNotification): string[] {
  if ('hostname' in change) return [`${change.kind} ${change.hostname}`];
  return change.kind === 'project_changed' ? [`project ${change.projectId}`] : [];
}

// Redis makes no difference here.
describe.each(databases)('on $name, edges', ({ name, available }) => {
  let db: StoredOrders;
  let count = 0;
  beforeAll(async () => {
    if (available) db = await openStoredOrders(name);
  });
  afterAll(() => db?.close());

  async function notificationsOf(act: () => Promise<unknown>): Promise<string[]> {
    const { pool } = db.database;
    const { received, kinds, close } = listenTo(db);
    await until('listening', async () => kinds().includes('complete'));
    await act();
    count += 1;
    const end = `changed end-${count}`;
    await pool.query(`SELECT pg_notify('signpost_edge', $1)`, [end]);
    await until('the end', async () => received.flatMap(inWords).includes(end));
    await close();
    return received.flatMap(inWords).filter((change) => change !== end);
  }

  async function live(hostname: string) {
    const { domain, order } = await db.anOrder(hostname);
    await db.certificates.store(domain, order.id, issued, noon);
    return db.load(domain.id);
  }

  it.skipIf(!available)('are not notified of a check that does not move the name', async () => {
    const pending = await db.pending('pending.acme.test');
    const served = await live('looked-at.acme.test');
    const sent = await notificationsOf(async () => {
      for (const diagnosis of [missing, missing])
        await db.check(await db.load(pending.id), diagnosis);
      for (const hours of [1, 2]) {
        await db.check(await db.load(served.id), missing, later(noon, hours * HOUR));
      }
    });
    expect((await db.load(served.id)).state.status).toBe('drifted');
    expect(sent).toEqual([]);
  });

  it.skipIf(!available)('are notified of a held name, a certificate and a removal', async () => {
    const hostname = 'life.acme.test';
    const domain = await db.pending(hostname);
    expect(await notificationsOf(() => db.check(domain, right))).toEqual([`changed ${hostname}`]);
    const verified = await db.load(domain.id);
    const order = await db.newOrder(verified);
    const store = () => db.certificates.store(verified, order?.id ?? '', issued, noon);
    expect(await notificationsOf(store)).toEqual([`changed ${hostname}`]);
    const renewed = { ...issued, expiresAt: later(issued.expiresAt, HOUR) };
    const served = await db.load(domain.id);
    const next = await db.newOrder(served);
    const renew = () => db.certificates.store(served, next?.id ?? '', renewed, noon);
    expect(await notificationsOf(renew)).toEqual([`changed ${hostname}`]);
    const remove = () =>
      db.domains.remove(wholeInstallation, { projectId: domain.projectId, hostname }, { at: noon });
    expect(await notificationsOf(remove)).toEqual([`gone ${hostname}`]);
  });

  it.skipIf(!available)('do not treat notifications to others as their own', async () => {
    const { pool } = db.database;
    const { kinds } = listenTo(db);
    await until('a heartbeat', async () => kinds().includes('complete'));
    await pool.query(`SELECT pg_notify('bullmq:check-dns', 'gone fishing')`);
    await until('the next heartbeat', async () => kinds().lastIndexOf('complete') > 1);
    expect(new Set(kinds().slice(1))).toEqual(new Set(['complete']));
  });

  it.skipIf(!available)('are not notified of the removal of an unheld name', async () => {
    const { projectId, hostname } = await db.pending('never-right.acme.test');
    expect(
      await notificationsOf(() =>
        db.domains.remove(wholeInstallation, { projectId, hostname }, { at: noon }),
      ),
    ).toEqual([]);
  });

  it.skipIf(!available)('are notified of a name that moves to another project', async () => {
    const hostname = 'moves.acme.test';
    const holder = await live(hostname);
    const claimant = await db.pending(hostname);
    expect(await notificationsOf(() => db.check(claimant, right))).toEqual([
      `gone ${hostname}`,
      `changed ${hostname}`,
    ]);
    expect((await db.load(holder.id)).state.status).toBe('pending');
  });

  it.skipIf(!available)('are notified of redirects, the primary domain and deploys', async () => {
    const { projectId } = await live('to.acme.test');
    const from = 'from.acme.test';
    const target = 'x.edge.test';
    await db.domains.add(wholeInstallation, { projectId, hostname: from, target }, noon);
    const settings = createDomainSettingsStore(db.database.prisma);
    const redirects = [{ from, to: 'to.acme.test', status: 302 }] as const;
    const set = (primary: string | null) => () =>
      settings.replace(wholeInstallation, projectId, { primary, redirects: [...redirects] });
    expect(await notificationsOf(set(null))).toEqual([`changed ${from}`]);
    expect(await notificationsOf(set('to.acme.test'))).toEqual([
      `project ${projectId}`,
      `changed ${from}`,
    ]);
    const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9' } as const;
    const deployed = () =>
      createDeployStore(db.database.prisma).add(wholeInstallation, projectId, deploy, noon);
    expect(await notificationsOf(deployed)).toEqual([`project ${projectId}`]);
  });

  it.skipIf(!available)('are notified of HSTS that is set, changed and ended', async () => {
    const hostname = 'hsts.acme.test';
    const { projectId } = await live(hostname);
    const settings = createDomainSettingsStore(db.database.prisma);
    const put = (maxAge: number) => () =>
      settings.putHsts(wholeInstallation, projectId, hostname, {
        maxAge,
        includeSubdomains: false,
        preload: false,
      });
    expect(await notificationsOf(put(300))).toEqual([`changed ${hostname}`]);
    expect(await notificationsOf(put(600))).toEqual([`changed ${hostname}`]);
    const end = () => settings.deleteHsts(wholeInstallation, projectId, hostname);
    expect(await notificationsOf(end)).toEqual([`changed ${hostname}`]);
    expect(await notificationsOf(end)).toEqual([]);
  });

  it.skipIf(!available)("are notified of a project's new signing key", async () => {
    const { projectId } = await live('signed.acme.test');
    const projects = createProjectStore(db.database.prisma);
    const rotate = () => projects.rotateSigning(wholeInstallation, projectId, noon);
    expect(await notificationsOf(rotate)).toEqual([`project ${projectId}`]);
    const rename = () => projects.update(wholeInstallation, projectId, { name: 'Another' });
    expect(await notificationsOf(rename)).toEqual([]);
  });
});

const [postgres] = storages.filter(({ name }) => name === 'postgres');

describe.skipIf(!postgres?.available)('a PostgreSQL listener', () => {
  let db: StoredOrders;
  beforeAll(async () => {
    db = await openStoredOrders('postgres');
  });
  afterAll(() => db?.close());

  async function backends(): Promise<readonly string[]> {
    const { rows } = await db.database.pool.query<{ pid: string }>(
      `SELECT pid::text FROM pg_stat_activity
       WHERE query LIKE 'LISTEN%' AND datname = current_database() ORDER BY 1`,
    );
    return rows.map(({ pid }) => pid);
  }

  it('detects a lost connection and listens again', async () => {
    const { kinds, lines } = listenTo(db);
    await until('a heartbeat', async () => kinds().includes('complete'));
    await db.database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
    );
    await until(
      'a beat after that',
      async () => kinds().lastIndexOf('listening') > 0 && kinds().at(-1) === 'complete',
    );
    const story = kinds().filter((kind, place) => kind !== kinds()[place - 1]);
    expect(story.slice(0, 4)).toEqual(['listening', 'complete', 'listening', 'complete']);
    expect(lines).toEqual([
      'not receiving route notifications',
      'receiving route notifications again',
    ]);
  });

  it('detects that notifications do not arrive, as behind a pooler', async () => {
    const elsewhere = await openStoredOrders('postgres');
    closings.push(elsewhere.close);
    // The heartbeats go to another database without a listener.
    const { pool } = elsewhere.database;
    const { kinds, lines } = listenTo({ database: { ...db.database, pool }, silenceMs: 50 });
    await until('three times', async () => kinds().length > 2);
    expect(new Set(kinds())).toEqual(new Set(['listening'])); // each time again
    expect(lines).toEqual(['not receiving route notifications']);
  });

  it('keeps listening while heartbeats are late, and receives a removal', async () => {
    const pool = db.database.openPool({ max: 1, statementTimeoutMs: 10_000 });
    const late = { database: { ...db.database, pool }, silenceMs: 1_500 }; // longer than a heartbeat interval
    const { received, kinds, lines } = listenTo(late);
    await until('a heartbeat', async () => kinds().includes('complete'));
    const listening = await backends();
    const busy = await pool.connect(); // another client has the only connection
    await until('late', async () => lines.length > 0);
    for (const label of ['one', 'two', 'three']) {
      const before = received.length;
      await db.database.pool.query(`SELECT pg_notify('signpost_edge', 'gone ${label}.test')`);
      await until('the removal', async () => received.length > before);
    }
    expect(kinds().slice(-3)).toEqual(['gone', 'gone', 'gone']);
    busy.release();
    await until('heartbeats again', async () => kinds().at(-1) === 'complete');
    expect(kinds().filter((kind) => kind === 'listening')).toHaveLength(1);
    expect(await backends()).toEqual(listening);
    expect(lines).toEqual([
      'not receiving route notifications',
      'receiving route notifications again',
    ]);
  });

  it('replaces a connection that does not respond', async () => {
    const { kinds, lines } = listenTo({ database: db.database, silenceMs: 1_500 });
    await until('a heartbeat', async () => kinds().includes('complete'));
    const [first] = await backends();
    process.kill(Number(first), 'SIGSTOP');
    try {
      await until('listening again', async () => kinds().lastIndexOf('listening') > 0);
      await until('a heartbeat', async () => kinds().at(-1) === 'complete');
    } finally {
      process.kill(Number(first), 'SIGCONT');
    }
    expect(lines).toContain('receiving route notifications again');
  });

  it('treats a notification from a later version as a change of everything', async () => {
    const { received, kinds } = listenTo(db);
    await until('a heartbeat', async () => kinds().includes('complete'));
    const before = received.length;
    await db.database.pool.query(`SELECT pg_notify('signpost_edge', 'moved a.test b.test')`);
    await until('listening again', async () => kinds().slice(before).includes('listening'));
  });
});
