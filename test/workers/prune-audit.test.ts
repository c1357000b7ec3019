/** The audit log is kept for 400 days, and what is older goes in batches, by one process. */
import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKeyStore } from '../../src/db/api-keys.ts';
import { createAuditStore } from '../../src/db/audit.ts';
import { createWaitingStore } from '../../src/db/domains/waiting.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { type PruneAuditDeps, pruneAudit } from '../../workers/prune-audit.ts';
import { later, noon } from '../support/builders.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';

const DAY_MS = 86_400_000;
const never = new AbortController().signal;

describe('the audit log', () => {
  let fresh: FreshStorage;
  let database: Database;
  beforeAll(async () => {
    fresh = await freshStorage();
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  it('loses what is older than 400 days, once a minute, whichever process does it', async () => {
    const { prisma } = database;
    const kept = later(noon, -400 * DAY_MS);
    const entry = {
      byInstallation: true,
      operationId: 'addDomain',
      objectKind: 'domain',
      outcome: 'done',
    } as const;
    const data = [later(kept, -1), kept, noon].map((at) => ({ id: randomUUID(), at, ...entry }));
    await prisma.auditEntry.createMany({ data });
    const deps = {
      audit: createAuditStore(prisma),
      keys: createApiKeyStore(prisma),
      waiting: createWaitingStore(prisma),
      now: () => noon,
    };
    expect(await pruneAudit(deps, never)).toBe(1);
    const left = await prisma.auditEntry.findMany({ orderBy: { at: 'asc' } });
    expect(left.map(({ at }) => at)).toEqual([kept, noon]);
    expect(await pruneAudit({ ...deps, now: () => later(noon, DAY_MS) }, never)).toBe(0);
    expect(await prisma.auditEntry.count()).toBe(2);
  });
});

describe('keys of an account', () => {
  let fresh: FreshStorage;
  let database: Database;
  beforeAll(async () => {
    fresh = await freshStorage();
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  it('go 400 days after their end, and the installation’s never', async () => {
    const { prisma } = database;
    const since = later(noon, -400 * DAY_MS);
    const [before, shop, closed] = [later(since, -1), randomUUID(), randomUUID()];
    await prisma.account.create({ data: { id: shop, name: 'Shop' } });
    await prisma.account.create({ data: { id: closed, name: 'Closed', closedAt: before } });
    const rows = [
      { id: 'works', accountId: shop },
      { id: 'revoked', accountId: shop, revokedAt: before },
      { id: 'expired', accountId: shop, expiresAt: before },
      { id: 'ends-later', accountId: shop, expiresAt: later(noon, DAY_MS) },
      { id: 'expired-lately', accountId: shop, expiresAt: since },
      { id: 'revoked-before-its-end', accountId: shop, revokedAt: before, expiresAt: noon },
      { id: 'of-a-closed-one', accountId: closed },
      { id: 'of-the-installation', accountId: null, revokedAt: before },
    ];
    const more = { name: 'k', scopes: [], createdAt: later(since, -DAY_MS) };
    await prisma.apiKey.createMany({
      data: rows.map((row) => ({ ...row, ...more, digest: randomBytes(32) })),
    });
    // The one that it was rotated from is kept, and no longer names it.
    await prisma.apiKey.update({ where: { id: 'works' }, data: { successorId: 'revoked' } });
    const deps = {
      audit: createAuditStore(prisma),
      keys: createApiKeyStore(prisma),
      waiting: createWaitingStore(prisma),
      now: () => noon,
    };
    await pruneAudit(deps, never);
    const left = await prisma.apiKey.findMany({ orderBy: { id: 'asc' } });
    expect(left.map(({ id, successorId }) => [id, successorId])).toEqual(
      ['ends-later', 'expired-lately', 'of-the-installation', 'works'].map((id) => [id, null]),
    );
  });
});

describe('a turn', () => {
  /** A backlog without an end; each batch takes this long. */
  function endless(batchMs: number) {
    let batches = 0;
    const deps: PruneAuditDeps = {
      audit: {
        prune: async (_, limit) => {
          batches += 1;
          return limit;
        },
      },
      keys: { dropEnded: async () => 0 },
      waiting: { takeTurn: async () => true },
      now: () => later(noon, batches * batchMs),
    };
    return { deps, count: () => batches };
  }

  it('ends after a second, and leaves the rest to the next one', async () => {
    const { deps, count } = endless(300);
    expect(await pruneAudit(deps, never)).toBe(20_000);
    expect(count()).toBe(4);
  });

  it('begins nothing once the process stops', async () => {
    const { deps, count } = endless(300);
    expect(await pruneAudit(deps, AbortSignal.abort())).toBe(0);
    expect(count()).toBe(0);
  });
});
