/** Histories that nobody wrote down, each compared with a small model after every step. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sizeOfRun } from '../support/run.ts';
import { storagesOfRun } from '../support/storage.ts';
import { checkHistories } from './check.ts';

/** How many, unless MODEL_RUNS says otherwise; each system is a service with a separate database. */
const RUNS = Number(process.env['MODEL_RUNS'] ?? sizeOfRun({ quick: 20, long: 10_000 }));
const LANES = Number(process.env['MODEL_LANES'] ?? sizeOfRun({ quick: 2, long: 6 }));
/** Embedded storage is slower, and the same SQL. */
const RUNS_EMBEDDED = Math.min(RUNS, 500);
/** Random in the long run; a quick one that fails has to fail again. */
const seed = Number(
  process.env['MODEL_SEED'] ?? sizeOfRun({ quick: 20_261_124, long: Date.now() % 2 ** 31 }),
);

// What waits a little shorter or longer would make a history another one when it is seen again.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => void vi.restoreAllMocks());

// The queue is the model's, so that it is nothing to it whether there is a Redis.
const wanted = storagesOfRun().filter(({ name }) => name !== 'postgres_redis');

describe.each(wanted)('on $name, whatever happens', ({ name: storage, available }) => {
  it.skipIf(!available)(
    'a domain is where the model says, its story is told once, and nothing is forgotten',
    async () => {
      const size =
        storage === 'embedded'
          ? { runs: RUNS_EMBEDDED, systems: 1 }
          : { runs: RUNS, systems: LANES };
      const { runs, events, failure } = await checkHistories({ storage, seed, ...size });
      // An annotation is shown of failures only.
      process.stdout.write(
        `${storage}: ${runs} histories, MODEL_SEED=${seed}: ${JSON.stringify(events)}\n`,
      );
      expect(failure).toBeNull();
      expect(runs).toBeGreaterThanOrEqual(size.runs);
    },
    7_200_000,
  );
});
