/** What a ladder costs and how late it is. Pure: the same seed gives the same figures. */
import { percentile } from '../support/figures.ts';
import { arrivals, drawsFrom } from './arrivals.ts';
import type { Ladder } from './ladders.ts';

export type Figures = {
  /** From the moment at which the DNS was right to the check that finds it, in milliseconds. */
  readonly meanMs: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** The share of domains that nobody looked at any more when they came. */
  readonly missed: number;
  /** Looks until it is found, after the one at adding. */
  readonly checks: number;
  /** Looks in 48 hours at a domain that never comes. */
  readonly checksNever: number;
  /** The same two, counted in questions. */
  readonly questions: number;
  readonly questionsNever: number;
};

const WINDOW_MS = 48 * 3_600_000;
const DOMAINS = 10_000;
/** Walks down a ladder, each with draws of its own; jitter makes them differ. */
const WALKS = 100;

/** 10,000 domains that come, and some that never do; every ladder meets the same ones. */
export function simulate(ladder: Ladder, seed = 1): Figures {
  const came = arrivals(DOMAINS, drawsFrom(seed));
  const draw = drawsFrom(seed + 1);
  const walks = Array.from({ length: WALKS }, () => walk(ladder, draw));
  const never = walks.map((walked) => walked.filter(({ age }) => age <= WINDOW_MS));
  const found = came.map((at, nth) => checkAfter(walks[nth % WALKS] ?? [], at));
  // Given up before it came: found when the 48 hours are over, which is the least that it costs.
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
 * Whether our ladder is better than one that asks as often or less: in the mean and for the slowest twentieth. Asking less by
 * either count is asking less: until a domain is found, or in 48 hours for nothing.
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

/** `questions`: of this look and all before it. */
type Step = { readonly age: number; readonly questions: number };

/** The looks at a domain that has not come: in 48 hours, and the first one after them. */
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

/** The first check at or after `at`, and what there was by then; `age` is null where there is none. */
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
