/** Cost and delay of a retry schedule. Pure: the same seed gives the same figures. */
import { percentile } from '../support/figures.ts';
import { arrivals, drawsFrom } from './arrivals.ts';
import type { Ladder } from './ladders.ts';

export type Figures = {
  /** Milliseconds from the moment of correct DNS to the check that finds it. */
  readonly meanMs: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Share of domains that became correct after the last check. */
  readonly missed: number;
  /** Checks until it is found, without the one at adding. */
  readonly checks: number;
  /** Checks within 48 hours of a domain that never becomes correct. */
  readonly checksNever: number;
  /** The same two, in queries. */
  readonly questions: number;
  readonly questionsNever: number;
};

const WINDOW_MS = 48 * 3_600_000;
const DOMAINS = 10_000;
/** Runs a schedule several times with different random numbers; jitter makes the runs differ. */
const WALKS = 100;

/** 10,000 domains that become correct, and some that never do; every schedule gets the same ones. */
export function simulate(ladder: Ladder, seed = 1): Figures {
  const came = arrivals(DOMAINS, drawsFrom(seed));
  const draw = drawsFrom(seed + 1);
  const walks = Array.from({ length: WALKS }, () => walk(ladder, draw));
  const never = walks.map((walked) => walked.filter(({ age }) => age <= WINDOW_MS));
  const found = came.map((at, nth) => checkAfter(walks[nth % WALKS] ?? [], at));
  // After the last check: counted as found after 48 hours, the minimum delay.
  const lags = found.map(({ age }, nth) => (age ?? WINDOW_MS) - (came[nth] ?? 0));
  return {
    meanMs: mean(lags),
    medianMs: percentile(lags, 0.5),
    p95Ms: percentile(lags, 0.95),
    missed: mean(found.map(({ age }) => (age === null ? 1 : 0))),
    checks: mean(found.map(({ checks }) => checks)),
    checksNever: mean(never.map((walked) => walked.length)),
    questions: mean(found.map(({ questions }) => questions)),
    questionsNever: mean(never.map((walked) => walked.at(-1)?.questions ?? 0)),
  };
}

export type Verdict = 'beaten' | 'asks more' | 'not beaten';

/**
 * By mean and 95th percentile. `asks more`: the rival needs more, both until a domain is found and in 48 hours
 * without success.
 */
export function compare(
  ours: Figures,
  rival: Figures,
  by: 'checks' | 'questions' = 'checks',
): Verdict {
  const never = `${by}Never` as const;
  if (rival[by] > ours[by] && rival[never] > ours[never]) return 'asks more';
  return ours.meanMs < rival.meanMs && ours.p95Ms < rival.p95Ms ? 'beaten' : 'not beaten';
}

/** `questions`: of this check and all before it. */
type Step = { readonly age: number; readonly questions: number };

/** Checks of a domain that stays wrong: those within 48 hours, and the next one. */
function walk({ next, untilMs, startCounting }: Ladder, draw: () => number): readonly Step[] {
  const count = startCounting();
  const steps: Step[] = [];
  let [age, questions] = [0, 0];
  while (age < Math.min(WINDOW_MS, untilMs)) {
    age = next(age, steps.length, draw);
    if (age > untilMs) break;
    questions += count(age);
    steps.push({ age, questions });
  }
  return steps;
}

/** The first check at or after `at`, and the counts until then; `age` is null if there is no such check. */
function checkAfter(steps: readonly Step[], at: number) {
  const place = steps.findIndex(({ age }) => age >= at);
  const step = steps.at(place);
  return {
    age: place === -1 ? null : (step?.age ?? null),
    checks: place === -1 ? steps.length : place + 1,
    questions: step?.questions ?? 0,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
