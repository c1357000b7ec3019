/**
 * The long run sends 100,000 requests over sockets (or FUZZ_REQUESTS) from one seed
 * (SIGNPOST_FUZZ_SEED). A failure prints its seed and the smallest failing conversation in octets.
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
const LONG_MS = 3_600_000; // on a busy machine

const skips = lacks('postgres', 'the fuzz run');

describe.skipIf(skips)('The API without a socket', () => {
  let t: SocketlessApi;
  beforeAll(async () => {
    t = await startSocketlessApi();
  });
  afterAll(() => t.close());

  test('gives a documented response to any method, target, headers and body', async () => {
    await fc.assert(
      fc.asyncProperty(wildRequests(t.known), async (raw) => {
        expect(await t.problemWith(raw)).toBeNull();
      }),
      { numRuns: CASES, seed: SEED },
    );
  });

  test('gives a response documented for the operation', async () => {
    await fc.assert(
      fc.asyncProperty(likelyRequests(t.known), async (raw) => {
        expect(await t.problemWith(raw)).toBeNull();
      }),
      { numRuns: CASES, seed: SEED },
    );
  });
});

describe.skipIf(skips)('The API under thousands of requests over sockets', () => {
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
    'responds correctly, keeps no client waiting and leaks nothing',
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

  test('is reported when one request blocks all others', async () => {
    await service.block();
    expect(service.longTurn()).toMatch(/^a turn of/);
  });
});

/**
 * From 20% to 100% of the requests, 100 octets leaked by each of 100,000 are 8 MB. The bound is
 * half of that: newly compiled code added 0.1 to 0.9 MB.
 */
function expectNoLeak(memory: readonly Memory[]): void {
  const [early, , late] = memory;
  if (early === undefined || late === undefined) throw new Error('nothing was measured');
  const most = Math.max(4_000_000, 0.8 * REQUESTS * 50);
  expect(late.heapUsed - early.heapUsed, 'heap').toBeLessThan(most);
  expect(late.external - early.external, 'buffers').toBeLessThan(most);
  expect(memory.map(({ connections }) => connections)).toEqual([0, 0, 0]);
}

/** A run whose connections all closed at once would prove nothing. */
function expectVariety({ sent, answered, answers }: Counts): void {
  expect(answered).toBeGreaterThan(0.6 * sent);
  const statuses = new Set([...answers.keys()].map((name) => Number.parseInt(name, 10)));
  expect([...statuses].sort()).toEqual(
    // docs/integrate/errors.md, without those that take time (408, 410) or many requests (429,
    // 503).
    [200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 413, 414, 415, 417, 422, 431],
  );
}
