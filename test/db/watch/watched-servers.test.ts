/** What is stored with a check for the watch: which servers are asked, and what each showed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseWatchedServers, watchedServersOf } from '../../../src/core/watch/watched-name.ts';
import { anObservation, later, missing, noon, right } from '../../support/builders.ts';
import { databasesOfRun } from '../../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../../support/stored-domains.ts';

const here = anObservation();
const elsewhere = anObservation({
  cname: { kind: 'nodata' },
  a: { kind: 'records', records: ['192.0.2.80'], ttlSeconds: 60 },
});
const onlyResolvers = { ...here, view: 'recursive' } as const;

describe.each(databasesOfRun())('on $name, a domain that is checked', ({ name, available }) => {
  let db: StoredDomains;
  beforeAll(async () => {
    if (available) db = await openStoredDomains(name);
  });
  afterAll(() => db?.close());

  async function watched(domainId: string) {
    const stored = await db.database.prisma.storedObservation.findUnique({ where: { domainId } });
    return stored && parseWatchedServers(stored.watchedServers ?? 'none');
  }

  it.skipIf(!available)('has the servers that answered, as the check saw them', async () => {
    const { id } = await db.pending('first.acme.test');
    expect(await watched(id)).toBeNull();
    await db.check(await db.load(id), missing, noon, undefined, elsewhere);
    expect(await watched(id)).toEqual(watchedServersOf(elsewhere));
    await db.check(await db.load(id), missing, later(noon, 1), undefined, here);
    expect(await watched(id)).toEqual(watchedServersOf(here));
    expect(watchedServersOf(here)).not.toEqual(watchedServersOf(elsewhere));
  });

  it.skipIf(!available)('has them of the check that moved it, too', async () => {
    const { id } = await db.pending('moved.acme.test');
    await db.check(await db.load(id), missing, noon, undefined, elsewhere);
    await db.check(await db.load(id), right, later(noon, 1), undefined, here);
    expect((await db.load(id)).state.status).toBe('verified');
    expect(await watched(id)).toEqual(watchedServersOf(here));
  });

  it.skipIf(!available)('has none where only resolvers could be asked', async () => {
    const { id } = await db.pending('resolvers.acme.test');
    await db.check(await db.load(id), missing, noon, undefined, here);
    await db.check(await db.load(id), missing, later(noon, 1), undefined, onlyResolvers);
    expect(await watched(id)).toEqual([]);
  });
});
