/** Random histories, each compared with a small model after every step. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sizeOfRun } from '../support/run.ts';
import { storagesOfRun } from '../support/storage.ts';
import { checkHistories } from './check.ts';

/** The default of MODEL_RUNS; each system is a service with a separate database. */
const RUNS = Number(process.env['MODEL_RUNS'] ?? sizeOfRun({ quick: 20, long: 10_000 }));
const SYSTEMS = Number(process.env['MODEL_SYSTEMS'] ?? sizeOfRun({ quick: 2, long: 6 }));
/** Embedded storage is slower and has the same SQL. */
const RUNS_EMBEDDED = Math.min(RUNS, 500);
/** Random in the long run; a failing quick run has to be reproducible. */
const seed = Number(
  process.env['MODEL_SEED'] ?? sizeOfRun({ quick: 20_261_124, long: Date.now() % 2 ** 31 }),
);

// Jitter would make a reproduced history differ.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => void vi.restoreAllMocks());

// The queue is the model's, so Redis is irrelevant.
const wanted = storagesOfRun().filter(({ name }) => name !== 'postgres_redis');

describe.each(wanted)('on $name, in any history', ({ name: storage, available }) => {
  it.skipIf(!available)(
    'states and events match the model, without lost work',
    async () => {
      const size =
        storage === 'embedded'
          ? { runs: RUNS_EMBEDDED, systems: 1 }
          : { runs: RUNS, systems: SYSTEMS };
      const { runs, events, failure } = await checkHistories({ storage, seed, ...size });
      // Annotations are shown only for failures.
      process.stdout.write(
        `${storage}: ${runs} histories, MODEL_SEED=${seed}: ${JSON.stringify(events)}\n`,
      );
      expect(failure).toBeNull();
      expect(runs).toBeGreaterThanOrEqual(size.runs);
    },
    7_200_000,
  );
});
