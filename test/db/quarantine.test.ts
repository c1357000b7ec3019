import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOUR } from '../../src/core/time.ts';
import { createQuarantineStore, type QuarantineStore } from '../../src/db/domains/quarantine.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const queue = 'issue-certificate';

describe.each(databasesOfRun())('a quarantined job on $name', ({ name, available }) => {
  let stored: StoredDomains;
  let quarantine: QuarantineStore;

  beforeAll(async () => {
    if (!available) return;
    stored = await openStoredDomains(name);
    quarantine = createQuarantineStore(stored.database.prisma);
  });
  afterAll(() => stored?.close());

  async function quarantined(): Promise<string> {
    const domainId = randomUUID();
    const jobId = `${domainId}.1`;
    const suspect = { queue, jobId, domainId, reason: 'Error: no such file' } as const;
    await quarantine.add(suspect, noon, [HOUR, 2 * HOUR]);
    return jobId;
  }
  const until = later(noon, HOUR);

  it.skipIf(!available)('is found with its reason until the quarantine ends', async () => {
    const jobId = await quarantined();
    const found = { reason: 'Error: no such file', until };
    expect(await quarantine.find(queue, jobId, noon)).toEqual(found);
    expect(await quarantine.find('check-dns', jobId, noon)).toBeNull();
    expect(await quarantine.find(queue, jobId, until)).toBeNull();
  });

  it.skipIf(!available)('can be retried early and keeps its history', async () => {
    const jobId = await quarantined();
    expect(await quarantine.endAt(queue, jobId, later(noon, 1_000))).toBe(true);
    expect(await quarantine.find(queue, jobId, later(noon, 1_000))).toBeNull();
    expect(await quarantine.untils(queue, [jobId])).toEqual(new Map([[jobId, later(noon, 1_000)]]));
    const suspect = { queue, jobId, domainId: null, reason: 'again' } as const;
    const again = await quarantine.add(suspect, until, [HOUR, 2 * HOUR]);
    expect(again).toEqual({ times: 2, until: later(until, 2 * HOUR) });
  });

  it.skipIf(!available)('is not extended by a retry, and ignores unknown jobs', async () => {
    const jobId = await quarantined();
    await quarantine.endAt(queue, jobId, later(noon, 9 * HOUR));
    expect(await quarantine.untils(queue, [jobId])).toEqual(new Map([[jobId, until]]));
    expect(await quarantine.endAt(queue, 'never', noon)).toBe(false);
  });
});
