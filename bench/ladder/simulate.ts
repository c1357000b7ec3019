/** What a ladder costs and how late it is. Pure: the same seed gives the same figures. */
import { percentile } from '../support/figures.ts';
import { arrivals, drawsFrom } from './arrivals.ts';
import type { Ladder, Step } from './ladders.ts';

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
  const never = walks.map((steps) => steps.findLast(({ ageMs }) => ageMs <= WINDOW_MS));
  const found = came.map((at, nth) => stepAfter(walks[nth % WALKS] ?? [], at));
  // Given up before it came: found when the 48 hours are over, which is the least that it costs.
  const lags = found.map(({ ageMs }, nth) => (ageMs ?? WINDOW_MS) - (came[nth] ?? 0));
  return {
    meanMs: mean(lags),
    medianMs: percentile(lags, 0.5),
    p95Ms: percentile(lags, 0.95),
    missed: mean(found.map(({ ageMs }) => (ageMs === null ? 1 : 0))),
    checks: mean(found.map(({ checks }) => checks + ladder.found.checks)),
    checksNever: mean(never.map((last) => last?.checks ?? 0)),
    questions: mean(found.map(({ questions }) => questions + ladder.found.questions)),
    questionsNever: mean(never.map((last) => last?.questions ?? 0)),
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

/** The steps at a domain that has not come, each with the sums of all before it: in 48 hours, and the first one after them. */
function walk({ steps }: Ladder, draw: () => number): readonly Step[] {
  const walked: Step[] = [];
  let [checks, questions] = [0, 0];
  for (const step of steps(draw)) {
    checks += step.checks;
    questions += step.questions;
    walked.push({ ageMs: step.ageMs, checks, questions });
    if (step.ageMs >= WINDOW_MS) break;
  }
  return walked;
}

/** The first step at or after `at`, and what there was by then; `ageMs` is null where there is none. */
function stepAfter(steps: readonly Step[], at: number) {
  const step = steps.find(({ ageMs }) => ageMs >= at);
  const last = steps.at(-1);
  return step ?? { ageMs: null, checks: last?.checks ?? 0, questions: last?.questions ?? 0 };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
