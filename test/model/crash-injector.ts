/** A worker's run that can be killed at any await: what it had asked for has happened, and nothing after it does. */
import { AsyncLocalStorage } from 'node:async_hooks';

export type Run = {
  /** How many of its calls may be answered; null: it lives. */
  diesAfter: number | null;
  calls: number;
  isDead: boolean;
  readonly died: Promise<void>;
  die(): void;
  /** What it has asked for and not heard of yet. */
  readonly underWay: Set<Promise<unknown>>;
};

const current = new AsyncLocalStorage<Run>();

/** The run that calls, if a run does. */
export function runOf(): Run | undefined {
  return current.getStore();
}

/** Outside of any run: what customers do while a worker works. */
export function outsideRuns<T>(act: () => T): T {
  return current.exit(act);
}

/** Answers what `work` does, or `killed` as soon as it is; everything that it had started has ended by then. */
export async function live<T, R extends Run>(
  run: R,
  work: () => Promise<T>,
): Promise<T | 'killed'> {
  const ended = await Promise.race([
    current.run(run, work),
    run.died.then(() => 'killed' as const),
  ]);
  while (run.underWay.size > 0) await Promise.allSettled(run.underWay);
  return ended;
}

export function newRun(diesAfter: number | null): Run {
  let die: () => void = () => undefined;
  const died = new Promise<void>((resolve) => {
    die = resolve;
  });
  return { diesAfter, calls: 0, isDead: false, died, die, underWay: new Set() };
}

/**
 * Every function of a part becomes one at whose answer the run may die. In place. `inner`: it asks nobody else, so that
 * what it does is waited for when its run has died.
 */
export function guardAll(part: object, { inner }: { readonly inner: boolean }): void {
  for (const [name, value] of Object.entries(part)) {
    if (typeof value === 'function') Object.assign(part, { [name]: guard(value, inner) });
  }
}

const guarded = Symbol('guarded');
const never = new Promise<never>(() => undefined);

function guard(asked: (...args: unknown[]) => unknown, inner: boolean) {
  if (guarded in asked) return asked;
  const wrapped = (...args: unknown[]) => {
    const run = current.getStore();
    if (run?.isDead) return never;
    const answer = asked(...args);
    return run === undefined || !isThenable(answer) ? answer : answered(run, answer, inner);
  };
  return Object.assign(wrapped, { [guarded]: true });
}

async function answered(run: Run, answer: PromiseLike<unknown>, inner: boolean): Promise<unknown> {
  const pending = Promise.resolve(answer);
  if (inner) run.underWay.add(pending);
  try {
    return await pending;
  } finally {
    run.underWay.delete(pending);
    run.calls += 1;
    if (run.diesAfter !== null && run.calls >= run.diesAfter && !run.isDead) {
      run.isDead = true;
      run.die();
    }
    if (run.isDead) await never;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
