import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { digestOf } from '../../../src/config/api-key.ts';
import { wholeInstallation } from '../../../src/core/access.ts';
import { MINUTE, SECOND } from '../../../src/core/time.ts';
import {
  type ApiKeyStore,
  createApiKeyStore,
  createKeyUsageStore,
  type KeyUsageStore,
} from '../../../src/db/api-keys.ts';
import { createKeyUsage, type KeyUsage } from '../../../src/http/keys/key-usage.ts';
import { later, noon } from '../../support/builders.ts';
import { plainService } from '../../support/plain-service.ts';
import { databases, openTestDatabase, type TestDatabase } from '../support.ts';

describe.each(databases)('Key usage on %s', (storage) => {
  let database: TestDatabase;
  let keys: ApiKeyStore;
  let store: KeyUsageStore;
  let warnings: string[];
  let away: boolean;
  let now: Date;
  const open: KeyUsage[] = [];

  beforeAll(async () => {
    database = await openTestDatabase(storage);
    keys = createApiKeyStore(database.prisma);
    store = createKeyUsageStore(database.prisma);
  });
  beforeEach(async () => {
    [now, warnings, away] = [noon, [], false];
    await database.prisma.apiKey.deleteMany();
    for (const id of ['a', 'b']) {
      await keys.create(wholeInstallation, {
        id,
        name: id,
        digest: digestOf(id),
        scopes: [],
        createdAt: noon,
      });
    }
  });
  afterEach(async () => void (await Promise.all(open.splice(0).map((usage) => usage.close()))));
  afterAll(() => database.close());

  /** One process on the real store, which can fail. */
  function aProcess(): KeyUsage {
    const reach = async (save: () => Promise<void>) => {
      if (away) throw new Error('away');
      await save();
    };
    const service = plainService({
      database,
      now: () => now,
      log: { warn: (_fields: unknown, message?: string) => void warnings.push(message ?? '') },
    });
    const usage = createKeyUsage(service, {
      saveUses: (uses) => reach(() => store.saveUses(uses)),
      addDeprecated: (uses) => reach(() => store.addDeprecated(uses)),
    });
    open.push(usage);
    return usage;
  }
  const lastUse = async (id: string) => (await keys.get(wholeInstallation, id))?.lastUsedAt ?? null;
  const deprecatedUses = async (id: string) =>
    (await keys.get(wholeInstallation, id))?.deprecatedUses;
  const useAt = (usage: KeyUsage, id: string, at: Date) => {
    now = at;
    usage.used(id);
  };

  test('records the time of the use, not of the write', async () => {
    const usage = aProcess();
    usage.used('a');
    now = later(noon, 4 * SECOND);
    await usage.flush();
    expect([await lastUse('a'), await lastUse('b')]).toEqual([noon, null]);
  });

  test('is written once a minute; then the newest is exact to five seconds', async () => {
    const usage = aProcess();
    usage.used('a');
    await usage.flush();
    for (let at = 5; at < 60; at += 5) {
      useAt(usage, 'a', later(noon, at * SECOND));
      await usage.flush();
      expect(await lastUse('a')).toEqual(noon);
    }
    now = later(noon, MINUTE);
    await usage.flush();
    expect(await lastUse('a')).toEqual(later(noon, 55 * SECOND));
  });

  test('is written at the next use of a key that was idle for a minute', async () => {
    const usage = aProcess();
    usage.used('a');
    await usage.flush();
    now = later(noon, MINUTE);
    await usage.flush();
    useAt(usage, 'a', later(noon, MINUTE + 1));
    await usage.flush();
    expect(await lastUse('a')).toEqual(later(noon, MINUTE + 1));
  });

  test('is written at close, even before the minute is over', async () => {
    const usage = aProcess();
    usage.used('a');
    await usage.flush();
    useAt(usage, 'a', later(noon, SECOND));
    usage.deprecated('a', 'getPet');
    await usage.close();
    expect(await lastUse('a')).toEqual(later(noon, SECOND));
    expect(await deprecatedUses('a')).toHaveLength(1);
  });

  test('keeps the later use of two processes', async () => {
    const [one, other] = [aProcess(), aProcess()];
    useAt(one, 'a', later(noon, 2 * SECOND));
    useAt(other, 'a', later(noon, SECOND));
    await one.flush();
    await other.flush();
    expect(await lastUse('a')).toEqual(later(noon, 2 * SECOND));
  });

  test('adds up calls of deprecated operations over processes and beyond 2^53', async () => {
    const [one, other] = [aProcess(), aProcess()];
    one.deprecated('a', 'getPet');
    one.deprecated('a', 'getPet');
    one.deprecated('a', 'another');
    await one.flush();
    const total = 2n ** 60n + 1n;
    await database.prisma.deprecatedUse.updateMany({
      where: { operationId: 'getPet' },
      data: { count: total },
    });
    now = later(noon, SECOND);
    other.deprecated('a', 'getPet');
    other.deprecated('b', 'getPet');
    await Promise.all([other.flush(), one.flush()]);
    expect(await deprecatedUses('a')).toEqual([
      { operationId: 'another', count: 1n, lastUsedAt: noon },
      { operationId: 'getPet', count: total + 1n, lastUsedAt: later(noon, SECOND) },
    ]);
    expect(await deprecatedUses('b')).toMatchObject([{ operationId: 'getPet', count: 1n }]);
  });

  test('is kept and logged when it cannot be written, and written once the storage is back', async () => {
    const usage = aProcess();
    usage.used('a');
    usage.deprecated('a', 'getPet');
    away = true;
    await usage.flush();
    expect(warnings).toHaveLength(2);
    expect(await lastUse('a')).toBeNull();
    now = later(noon, SECOND);
    usage.deprecated('a', 'getPet');
    away = false;
    await usage.flush();
    await usage.flush();
    expect(await lastUse('a')).toEqual(noon);
    expect(await deprecatedUses('a')).toEqual([
      { operationId: 'getPet', count: 2n, lastUsedAt: now },
    ]);
  });

  test('is written for the other keys when one key is gone', async () => {
    const usage = aProcess();
    for (const id of ['gone', 'a']) {
      usage.used(id);
      usage.deprecated(id, 'getPet');
    }
    await usage.flush();
    expect(warnings).toEqual([]);
    expect(await lastUse('a')).toEqual(noon);
    expect(await deprecatedUses('a')).toHaveLength(1);
  });

  test('is written without conflicts by processes with many keys at once', async () => {
    const ids = Array.from({ length: 40 }, (_, at) => `key ${at}`);
    for (const id of ids) {
      await keys.create(wholeInstallation, {
        id,
        name: id,
        digest: digestOf(id),
        scopes: [],
        createdAt: noon,
      });
    }
    const processes = [ids, ids.toReversed(), ids].map((order) => {
      const usage = aProcess();
      for (const id of order) {
        usage.used(id);
        usage.deprecated(id, 'getPet');
      }
      return usage;
    });
    await Promise.all(processes.map((usage) => usage.flush()));
    expect(warnings).toEqual([]);
    const { rows: shown } = await keys.list(wholeInstallation, { after: null, limit: 100 });
    expect(shown.filter(({ deprecatedUses: [use] }) => use?.count === 3n)).toHaveLength(40);
  });

  test('is written by a timer that stops at close', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const usage = aProcess();
      usage.used('a');
      vi.advanceTimersByTime(5_000);
      await vi.waitUntil(async () => (await lastUse('a')) !== null);
      await usage.close();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
