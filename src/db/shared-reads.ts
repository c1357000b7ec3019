/** Reads that arrive together, gathered, where equal ones are asked once. */
import { type GatherOptions, gather } from './gather.ts';

/**
 * As `gather`, with one run for questions of the same name. An answer comes from a run that began after its
 * question arrived, so a read after a write sees it.
 */
export function shareReads<Question, Answer>(
  run: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  nameOf: (question: Question) => string,
  options: GatherOptions,
): (question: Question) => Promise<Answer> {
  return gather(async (questions: readonly Question[]) => {
    const asked = new Map<string, Question>();
    const names = questions.map((question) => {
      const name = nameOf(question);
      asked.set(name, question);
      return name;
    });
    const answers = await run([...asked.values()]);
    const byName = new Map([...asked.keys()].map((name, place) => [name, answers[place]]));
    return names.map((name) => byName.get(name) as Answer); // `run` promises one for each
  }, options);
}
