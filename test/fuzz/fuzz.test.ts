/**
 * The API against requests that nobody would write. The run over sockets sends 100,000 in the long run (FUZZ_REQUESTS says
 * otherwise), all made from one seed (SIGNPOST_FUZZ_SEED); a failure prints the smallest conversation that goes wrong, octet by octet, and its seed.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks } from '../support/programs.ts';
import { sizeOfRun } from '../support/run.ts';
import { type Known, makeKnown } from './known.ts';
import { type Counts, createRun } from './run.ts';
import { type FuzzedService, type Memory, startFuzzedService } from './service.ts';
import {
  likelyRequests,
  type SocketlessApi,
  startSocketlessApi,
  wildRequests,
} from './without-socket.ts';

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? sizeOfRun({ quick: 2_500, long: 100_000 }));
const SEED = Number(process.env['SIGNPOST_FUZZ_SEED'] ?? 20_301_205);
const CASES = sizeOfRun({ quick: 400, long: 10_000 });
const LONG_MS = 3_600_000; // of a machine that is busy with much else

const skips = lacks('postgres', 'the fuzz run');

describe.skipIf(skips)('without a socket', () => {
  let t: SocketlessApi;
  beforeAll(async () => {
    t = await startSocketlessApi();
  });
  afterAll(() => t.close());

  test('any method, target, headers and body get an answer that is documented', async () => {
    await fc.assert(
      fc.asyncProperty(wildRequests(t.known), async (raw) => {
        expect(await t.problemWith(raw)).toBeNull();
      }),
      { numRuns: CASES, seed: SEED },
    );
  });

  test('whatever is asked of an operation gets an answer that is documented for it', async () => {
    await fc.assert(
      fc.asyncProperty(likelyRequests(t.known), async (raw) => {
        expect(await t.problemWith(raw)).toBeNull();
      }),
      { numRuns: CASES, seed: SEED },
    );
  });
});

describe.skipIf(skips)('thousands of requests over sockets', () => {
  let service: FuzzedService;
  let known: Known;
  beforeAll(async () => {
    service = await startFuzzedService();
    known = await makeKnown(service.adminKey, service.call);
  });
  afterAll(async () => {
    expect(await service.stop()).toBe(0);
  });

  test(
    'get the answers that are due, none keeps the others waiting, and nothing is left behind',
    async () => {
      const run = createRun(service, known, SEED);
      const memory: Memory[] = [];
      for (const share of [0.2, 0.4, 0.4]) {
        await run.send(REQUESTS * share);
        memory.push(await service.measure());
      }
      expect(service.faults()).toEqual([]);
      expect(service.longTurn()).toBeNull();
      expect(await service.call('GET', '/healthz')).toEqual({ status: 'alive' });
      expectNoLeak(memory);
      expectVariety(run.counts);
    },
    LONG_MS,
  );

  test('would not go unnoticed if one kept all the others waiting', async () => {
    await service.block();
    expect(service.longTurn()).toMatch(/^a turn of/);
  });
});

/**
 * From 20 % to 100 % of the requests, 100 octets kept of each of 100,000 are 8 MB. Half of that is the bound: what code that is
 * compiled meanwhile adds was 0.1 to 0.9 MB.
 */
function expectNoLeak(memory: readonly Memory[]): void {
  const [early, , late] = memory;
  if (early === undefined || late === undefined) throw new Error('nothing was measured');
  const most = Math.max(4_000_000, 0.8 * REQUESTS * 50);
  expect(late.heapUsed - early.heapUsed, 'heap').toBeLessThan(most);
  expect(late.external - early.external, 'buffers').toBeLessThan(most);
  expect(memory.map(({ connections }) => connections)).toEqual([0, 0, 0]);
}

/** A run in which every connection were closed at once would show nothing. */
function expectVariety({ sent, answered, answers }: Counts): void {
  expect(answered).toBeGreaterThan(0.6 * sent);
  const statuses = new Set([...answers.keys()].map((name) => Number.parseInt(name, 10)));
  expect([...statuses].sort()).toEqual(
    // docs/integrate/errors.md; left out is what takes time (408, 410) or many requests (429, 503).
    [200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 413, 414, 415, 417, 422, 431],
  );
}
