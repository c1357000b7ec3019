/** Streams rely on this: however many writers there are, a reader sees 1, 2, 3 … without a gap. */

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { Database } from '../../src/db/engine/client.ts';
import { createEventFeedStore, recordEvents } from '../../src/db/events.ts';
import { eventStream } from '../../src/events/event-stream.ts';
import { createFeed, type ReadPage } from '../../src/events/feed.ts';
import { noon } from '../support/builders.ts';
import { readEvents } from '../support/sse.ts';
import { storages } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const PROJECTS = 3;
const quiet = { info: () => {}, warn: () => {} };

/** A transaction: its projects, the event loop turns before its end, and commit or rollback. */
const writer = fc.record({
  written: fc.array(fc.nat(PROJECTS - 1), { minLength: 1, maxLength: 4 }),
  turns: fc.nat(5),
  isUndone: fc.boolean(),
});
type Writer = typeof writer extends fc.Arbitrary<infer Made> ? Made : never;

const undone = new Error('undone');

/** Runs one transaction; returns the projects that have a new event. */
async function write(
  { prisma }: Database,
  domains: readonly LoadedDomain[],
  { written, turns, isUndone }: Writer,
): Promise<readonly number[]> {
  const events = written.map(
    (n) =>
      ({
        type: 'domain.live',
        issuer: 'Local',
        expiresAt: noon,
        domainId: domains[n]?.id ?? '',
      }) as const,
  );
  try {
    await prisma.$transaction(
      async (tx) => {
        await recordEvents(tx, events, noon);
        for (let turn = 0; turn < turns; turn += 1) await tx.$queryRaw`SELECT 1`;
        if (isUndone) throw undone;
      },
      { maxWait: 20_000, timeout: 20_000 },
    );
    return written;
  } catch (fault) {
    if (fault !== undone) throw fault;
    return [];
  }
}

/** Streams of all projects from their first event. */
function openStreams(database: Database, domains: readonly LoadedDomain[]) {
  const events = createEventFeedStore(database);
  const lastNumbers = (ids: readonly string[]) => events.lastNumbers(wholeInstallation, ids);
  const page: ReadPage = events.page;
  const feed = createFeed({ lastNumbers, log: quiet, pollMs: 2 });
  const checkFeed = { follow: () => expect.fail('unexpected follow of checks') };
  const over = new AbortController();
  const from = {
    access: wholeInstallation,
    domain: null,
    checks: false,
    after: 0n,
    newest: 0n,
    isKeyValid: async () => true,
    isProjectVisible: async () => true,
  };
  return {
    readings: domains.map(({ projectId }) =>
      readEvents(
        eventStream({ feed, page, checkFeed, pageSize: 2 }, { ...from, projectId }, over.signal),
      ),
    ),
    close() {
      over.abort();
      feed.close();
    },
  };
}

const postgres = storages.filter(({ name }) => name === 'postgres');

describe.each(postgres)('Event numbers on $name', ({ name, available }) => {
  describe.skipIf(!available)('with concurrent writers', () => {
    let stored: StoredDomains;
    beforeAll(async () => {
      stored = await openStoredDomains(name);
    });
    afterAll(() => stored?.close());

    /** Each project starts with one event: its domain was added. */
    async function projectsOfOneDomain(): Promise<readonly LoadedDomain[]> {
      const domains: LoadedDomain[] = [];
      for (let n = 0; n < PROJECTS; n += 1) {
        domains.push(await stored.pending(`d${n}-${randomUUID()}.test`));
      }
      return domains;
    }

    async function readsWhatWasWritten(writers: readonly Writer[]): Promise<void> {
      const { database } = stored;
      const domains = await projectsOfOneDomain();
      const { readings, close } = openStreams(database, domains);
      const first = readings.map((reading) => reading.numbers(1)); // they read while it is written
      const written = await Promise.all(writers.map((one) => write(database, domains, one)));
      for (const [n, reading] of readings.entries()) {
        const count = written.flat().filter((project) => project === n).length;
        const numbers = [...((await first[n]) ?? []), ...(await reading.numbers(count))];
        expect(numbers).toEqual(Array.from({ length: count + 1 }, (_, index) => index + 1));
        const rows = await database.prisma.event.count({
          where: { domainId: domains[n]?.id ?? '' },
        });
        expect(rows).toBe(count + 1);
      }
      close();
    }

    it('are read in order without gaps or repetitions', async () => {
      const writers = fc.array(writer, { minLength: 4, maxLength: 12 });
      await fc.assert(fc.asyncProperty(writers, readsWhatWasWritten), { numRuns: 25 });
    });
  });
});
