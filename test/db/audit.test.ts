/** The rows of the audit log: whose they are, in which order they come, and that no page of it is slow. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Access, installation } from '../../src/core/accounts/access.ts';
import type { AuditEntry } from '../../src/core/operations/audit.ts';
import {
  type AuditQuery,
  type AuditStore,
  createAuditStore,
  type NewAuditEntry,
} from '../../src/db/audit.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { transact } from '../../src/db/engine/transaction.ts';
import { later, noon } from '../support/builders.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

const everything: AuditQuery = {
  keyId: null,
  projectId: null,
  operationId: null,
  from: null,
  to: null,
  after: null,
  limit: 100,
  hidesOperators: false,
};
const entryOf = (given: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  at: noon,
  operationId: 'addDomain',
  object: { kind: 'key', id: 'k1', accountId: null },
  outcome: 'done',
  code: null,
  keyId: 'k1',
  sessionId: null,
  byInstallation: false,
  address: '192.0.2.1',
  userAgent: 'curl/8',
  requestId: 'r1',
  ...given,
});

describe.each(databases)('the audit log, on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  let log: AuditStore;
  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    log = createAuditStore(database.prisma);
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  const accountOf = (accountId: string): Access => ({
    kind: 'account',
    accountId,
    projectIds: null,
  });
  async function aProject() {
    const [accountId, projectId] = [randomUUID(), randomUUID()];
    await database.prisma.account.create({ data: { id: accountId, name: 'A' } });
    const project = { id: projectId, accountId, name: 'Docs', slug: 'docs' };
    await database.prisma.project.create({ data: project });
    return { accountId, projectId };
  }

  it.skipIf(!available)('an entry about a project’s thing is its account’s', async () => {
    const { accountId, projectId } = await aProject();
    const object = { kind: 'domain', id: 'docs.example.com', projectId } as const;
    const { id } = await log.record(entryOf({ object }));
    const expected = {
      id,
      at: noon,
      accountId,
      projectId,
      objectKind: 'domain',
      objectId: 'docs.example.com',
      keyId: 'k1',
      sessionId: null,
      byInstallation: false,
      operationId: 'addDomain',
      outcome: 'done',
      code: null,
      address: '192.0.2.1',
      userAgent: 'curl/8',
      requestId: 'r1',
    };
    expect(await log.list(accountOf(accountId), everything)).toEqual([expected]);
    expect(await log.list(accountOf(randomUUID()), everything)).toEqual([]);
    expect(await log.list(installation, { ...everything, projectId })).toEqual([expected]);
    const restricted = { ...accountOf(accountId), projectIds: [randomUUID()] } as Access;
    expect(await log.list(restricted, everything)).toEqual([]);
  });

  it.skipIf(!available)(
    'an account sees that the installation did it, and not who of it',
    async () => {
      const { accountId, projectId } = await aProject();
      const object = { kind: 'project', id: projectId, projectId } as const;
      await log.record(entryOf({ object, byInstallation: true, keyId: 'theirs', sessionId: 's' }));
      const query = { ...everything, hidesOperators: true };
      const hidden = { keyId: null, sessionId: null, address: null, userAgent: null };
      const shown = { ...hidden, byInstallation: true, requestId: null };
      expect(await log.list(accountOf(accountId), query)).toMatchObject([shown]);
      const asked = { ...query, keyId: 'theirs' };
      expect(await log.list(accountOf(accountId), asked)).toEqual([]);
      expect(await log.list(installation, { ...everything, keyId: 'theirs' })).toMatchObject([
        { keyId: 'theirs', address: '192.0.2.1' },
      ]);
    },
  );

  it.skipIf(!available)('is undone with what it is about', async () => {
    const failing = transact(database.prisma, async () => {
      await log.record(entryOf({ operationId: 'undone' }));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await log.list(installation, { ...everything, operationId: 'undone' })).toEqual([]);
  });

  it.skipIf(!available)('an outcome is told once, where it was unknown', async () => {
    const asked = { ...everything, operationId: 'rotateKeys' };
    const rotation = entryOf({ operationId: 'rotateKeys', outcome: 'unknown' });
    const place = await log.record(rotation);
    expect(await log.list(installation, asked)).toMatchObject([{ outcome: 'unknown' }]);
    await log.settle(place, 'failed', 'internal_error');
    await log.settle(place, 'done', null);
    const ended = { outcome: 'failed', code: 'internal_error' };
    expect(await log.list(installation, asked)).toMatchObject([ended]);
  });

  it.skipIf(!available)(
    'comes newest first, page after page, also of one millisecond',
    async () => {
      const { accountId, projectId } = await aProject();
      const object = { kind: 'project', id: projectId, projectId } as const;
      const times = [noon, noon, noon, later(noon, 1), later(noon, 1), later(noon, 5)];
      for (const at of times) await log.record(entryOf({ object, at }));
      const seen: AuditEntry[] = [];
      for (;;) {
        const query = { ...everything, limit: 2, after: seen.at(-1) ?? null };
        const page = await log.list(accountOf(accountId), query);
        if (page.length === 0) break;
        seen.push(...page);
      }
      expect(seen.map(({ at }) => at)).toEqual(times.toReversed());
      expect(new Set(seen.map(({ id }) => id)).size).toBe(times.length);
      const within = { ...everything, from: later(noon, 1), to: later(noon, 5) };
      expect(await log.list(accountOf(accountId), within)).toHaveLength(2);
    },
  );

  it.skipIf(!available)('loses its oldest entries, so many at once', async () => {
    const old = later(noon, -1_000_000);
    for (const ms of [0, 1, 2]) await log.record(entryOf({ at: later(old, ms) }));
    expect(await log.prune(later(old, 2), 1)).toBe(1);
    const rest = { ...everything, to: later(old, 10) };
    expect(await log.list(installation, rest)).toHaveLength(2);
    expect(await log.prune(later(old, 2), 10)).toBe(1);
    expect(await log.prune(later(old, 2), 10)).toBe(0);
    expect(await log.list(installation, rest)).toHaveLength(1);
  });
});
