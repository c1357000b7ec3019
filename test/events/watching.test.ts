/** Watched domains are checked sooner, with one statement for all of them. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SECOND } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import {
  createWatchedDomainStore,
  type WatchedDomain,
} from '../../src/db/domains/watched-domains.ts';
import { createWatching, type Watching } from '../../src/events/watching.ts';
import { later, missing, noon } from '../support/builders.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { until } from '../support/world.ts';

let stored: StoredDomains;
let watching: Watching;
let now: Date;
/** The ids of each write, and the woken jobs. */
let writes: (readonly string[])[] = [];
let woken: string[] = [];
let fault: Error | null = null;

beforeAll(async () => {
  stored = await openStoredDomains();
});
afterEach(() => watching?.close());
afterAll(() => stored?.close());

function start(
  options: { checkEveryMs?: number; writeEveryMs?: number; promotes?: () => Promise<void> } = {},
) {
  const { promotes, ...rest } = options;
  const store = createWatchedDomainStore(stored.database.prisma);
  [writes, woken, fault, now] = [[], [], null, later(noon, 6 * SECOND)];
  watching = createWatching({
    store: {
      async watch(access, ids, end): Promise<readonly WatchedDomain[]> {
        writes.push(ids);
        if (fault !== null) throw fault;
        return store.watch(access, ids, end);
      },
    },
    promote: async ({ domainId, epoch }) => {
      await promotes?.();
      woken.push(`${domainId}.${epoch}`);
    },
    now: () => now,
    log: { warn: () => {} },
    checkEveryMs: 5 * SECOND,
    writeEveryMs: 60 * SECOND,
    ...rest,
  });
  return watching;
}

/** A pending domain that was checked at noon and is due again 15 s later. */
async function checked(hostname: string): Promise<LoadedDomain> {
  const domain = await stored.pending(hostname);
  await stored.check(domain, missing);
  return stored.load(domain.id);
}

const jobOf = ({ id, epoch }: LoadedDomain) => `${id}.${epoch}`;

describe('A watched pending domain', () => {
  it('is checked at once, then every 5 seconds, and normally after the last watcher leaves', async () => {
    const domain = await checked('at-once.shop.test');
    const stop = start().watch(domain.id);
    await until('its job is woken', async () => woken.length > 0);
    expect(woken).toEqual([jobOf(domain)]);
    const watched = await stored.load(domain.id);
    expect(watched.watchedUntil).toEqual(later(now, 30 * SECOND));
    await stored.check(watched, missing, now);
    const soon = await stored.load(domain.id);
    expect(soon.nextCheckAt).toEqual(later(now, 5 * SECOND));
    stop();
    const after = later(now, 31 * SECOND);
    await stored.check(soon, missing, after);
    expect((await stored.load(domain.id)).nextCheckAt).toEqual(later(after, 15 * SECOND));
  });

  it('is not checked twice within 5 seconds', async () => {
    const domain = await checked('just-now.shop.test');
    await start({ checkEveryMs: 300 });
    now = later(noon, 100);
    const startedAt = performance.now();
    watching.watch(domain.id);
    await until('its job is woken', async () => woken.length > 0);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199);
  });

  it('is unchanged when its next check comes soon', async () => {
    const domain = await checked('soon.shop.test');
    await start();
    now = later(noon, 11 * SECOND);
    watching.watch(domain.id);
    await until('it is marked as watched', async () => (await stored.load(domain.id)).watchedUntil);
    expect(woken).toEqual([]);
  });

  it('is written together with others while they are watched, then no more', async () => {
    const two = [await checked('one.shop.test'), await checked('two.shop.test')];
    const ids = two.map(({ id }) => id).sort();
    await start({ writeEveryMs: 200 });
    const stops = [...two, ...two].map(({ id }) => watching.watch(id));
    await until('three writes', async () => writes.length >= 3);
    for (const stop of stops) stop();
    expect(new Set(writes.map((write) => [...write].sort().join()))).toEqual(new Set([ids.join()]));
    // Later writes for another domain do not include them.
    const before = writes.length;
    const other = await checked('three.shop.test');
    watching.watch(other.id);
    await until('two more writes', async () => writes.length >= before + 2);
    expect(new Set(writes.slice(before).flat())).toEqual(new Set([other.id]));
  });

  it('is written once when its page is reopened repeatedly', async () => {
    const domain = await checked('again.shop.test');
    await start();
    for (let n = 0; n < 20; n += 1) {
      watching.watch(domain.id)();
      await new Promise((resolve) => setTimeout(resolve, 10));
      watching.watch(domain.id);
    }
    await until('it is marked as watched', async () => (await stored.load(domain.id)).watchedUntil);
    expect(writes).toEqual([[domain.id]]);
  });

  it('is written again after an outage of the database or queue', async () => {
    const domain = await checked('away.shop.test');
    let refusals = 0;
    const promotes = async () => {
      refusals += 1;
      if (refusals === 1) throw new Error('the queue is away');
    };
    await start({ writeEveryMs: 50, promotes });
    fault = new Error('away');
    watching.watch(domain.id);
    await until('it was tried', async () => writes.length > 0);
    fault = null;
    await until('its job is woken', async () => woken.length > 0);
    expect(refusals).toBeGreaterThan(1);
  });
});

describe('Any other watched domain', () => {
  it('is unchanged', async () => {
    const verified = await stored.verified('verified.shop.test');
    start().watch(verified.id);
    await until('it was written', async () => writes.length > 0);
    const pending = await checked('marker.shop.test');
    watching.watch(pending.id);
    await until('the one after it is', async () => (await stored.load(pending.id)).watchedUntil);
    await until('its job is woken', async () => woken.length > 0);
    expect((await stored.load(verified.id)).watchedUntil).toBeNull();
    expect(woken).toEqual([jobOf(pending)]);
  });
});
