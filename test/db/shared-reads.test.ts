import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareReads } from '../../src/db/engine/statements.ts';

/** Reads whose runs end when the test says so; an answer names the run that gave it. */
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

/** Asks, waits and answers in the given order, then answers whatever is left. */
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

describe('reads that arrive together', () => {
  it('ask the same once, and all of them get the answer', async () => {
    const { runs, read, answer } = held(1);
    const answers = Promise.all(['a', 'b', 'a', 'a', 'b'].map(read));
    await turn();
    expect(runs).toEqual([['a', 'b']]);
    answer();
    expect(await answers).toEqual(['a@0', 'b@0', 'a@0', 'a@0', 'b@0']);
  });

  it('take the next run of a query that is under way, never the one that began before', async () => {
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

  it('are answered by a run that began after they were asked, whatever comes when', async () => {
    const step = fc.constantFrom('a', 'b', 'c', 'turn', 'answer');
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3 }),
      (steps, concurrency) => play(held(concurrency), steps),
    );
    await fc.assert(property, { numRuns: 300 });
  });
});
