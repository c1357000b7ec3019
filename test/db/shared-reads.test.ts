import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareReads } from '../../src/db/engine/statements.ts';

/** Reads whose runs end when the test says so; a result names its run. */
function held(concurrency: number) {
  const runs: (readonly string[])[] = [];
  const underWay: (() => void)[] = [];
  const read = shareReads(
    (questions: readonly string[]) =>
      new Promise<readonly string[]>((resolve) => {
        const answers = questions.map((question) => `${question}@${runs.length}`);
        runs.push(questions);
        underWay.push(() => resolve(answers));
      }),
    (question) => question,
    { itemsMax: 10, concurrency },
  );
  return { runs, read, answer: () => underWay.shift()?.() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Runs reads, waits and results in the given order, then ends what is left. */
async function play(reads: ReturnType<typeof held>, steps: readonly string[]): Promise<void> {
  const asked: Promise<void>[] = [];
  for (const step of steps) {
    if (step === 'turn') await turn();
    else if (step === 'answer') reads.answer();
    else asked.push(ask(reads, step));
  }
  for (let turns = 0; turns < 2 * steps.length; turns += 1) {
    reads.answer();
    await turn();
  }
  await Promise.all(asked);
}

async function ask({ runs, read }: ReturnType<typeof held>, question: string): Promise<void> {
  const begun = runs.length;
  const [answered, run] = (await read(question)).split('@');
  expect(answered).toBe(question);
  expect(Number(run)).toBeGreaterThanOrEqual(begun);
}

describe('concurrent reads', () => {
  it('run equal queries once and return the result to all callers', async () => {
    const { runs, read, answer } = held(1);
    const answers = Promise.all(['a', 'b', 'a', 'a', 'b'].map(read));
    await turn();
    expect(runs).toEqual([['a', 'b']]);
    answer();
    expect(await answers).toEqual(['a@0', 'b@0', 'a@0', 'a@0', 'b@0']);
  });

  it('wait for the next run of an active query, never for an earlier one', async () => {
    const { runs, read, answer } = held(1);
    const early = read('a');
    await turn();
    const late = Promise.all([read('a'), read('a')]);
    await turn();
    expect(runs).toHaveLength(1);
    answer();
    expect(await early).toBe('a@0');
    await turn();
    await turn();
    expect(runs).toEqual([['a'], ['a']]);
    answer();
    expect(await late).toEqual(['a@1', 'a@1']);
  });

  it('return a run that started after the call, in any order of events', async () => {
    const step = fc.constantFrom('a', 'b', 'c', 'turn', 'answer');
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3 }),
      (steps, concurrency) => play(held(concurrency), steps),
    );
    await fc.assert(property, { numRuns: 300 });
  });
});
