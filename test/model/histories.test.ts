/** Histories that nobody wrote down, each compared with a small model after every step. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { storages } from '../support/storage.ts';
import { checkHistories } from './check.ts';

const asked = process.env['MODEL_RUNS'];
const RUNS = { embedded: 15, postgres: Number(asked ?? 2_000) };
/** As many as fit, unless a number was asked for. A busy machine, where fewer than the least fit, has more time. */
const LIMITS = asked === undefined ? [15_000, 60_000, 240_000] : [undefined];
const LEAST = 5;
const LANES = { embedded: 1, postgres: Number(process.env['MODEL_LANES'] ?? 6) };
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 2 ** 31);

// What waits a little shorter or longer would make a history another one when it is seen again.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => void vi.restoreAllMocks());

async function checkMany(storage: 'postgres' | 'embedded') {
  const options = { storage, seed, runs: RUNS[storage], lanes: LANES[storage] };
  let checked = { runs: 0, told: {}, failure: null } as Awaited<ReturnType<typeof checkHistories>>;
  for (const limitMs of LIMITS) {
    if (checked.failure !== null || checked.runs >= LEAST) break;
    checked = await checkHistories({ ...options, ...(limitMs !== undefined && { limitMs }) });
  }
  return checked;
}

describe.each(['postgres', 'embedded'] as const)('on %s, whatever happens', (storage) => {
  const available = storages.find(({ name }) => name === storage)?.available ?? false;

  it.skipIf(!available)(
    'a domain is where the model says, its story is told once, and nothing is forgotten',
    async () => {
      const { runs, told, failure } = await checkMany(storage);
      // An annotation is shown of failures only.
      process.stdout.write(`${storage}: ${runs} histories, MODEL_SEED=${seed}: ${JSON.stringify(told)}
`);
      expect(failure).toBeNull();
      // A number that was asked for is that number.
      expect(runs).toBeGreaterThanOrEqual(asked === undefined ? LEAST : RUNS[storage]);
    },
    asked === undefined ? 600_000 : 3_600_000,
  );
});
