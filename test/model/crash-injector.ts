/** Kills a worker's run at any await: earlier calls take effect, later ones never happen. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tx } from '../../src/db/engine/transaction.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';

export type Run = {
  /** The number of calls that return before it is killed; null: it lives. */
  diesAfter: number | null;
  calls: number;
  isDead: boolean;
  readonly died: Promise<void>;
  die(): void;
  readonly underWay: Set<Promise<unknown>>;
};

const current = new AsyncLocalStorage<Run>();

export function runOf(): Run | undefined {
  return current.getStore();
}

/** Runs outside of any run: a customer acts while a worker works. */
export function outsideRuns<T>(act: () => T): T {
  return current.exit(act);
}

/** Returns the result of `work`, or `killed` as soon as it is killed, once its calls have ended. */
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
 * Wraps every function of a part, in place, so that the run may die when it returns. `inner`: it
 * makes no calls to others, so its work is awaited after a kill.
 */
export function guardAll(part: object, { inner }: { readonly inner: boolean }): void {
  for (const [name, value] of Object.entries(part)) {
    if (typeof value === 'function') Object.assign(part, { [name]: guard(value, inner) });
  }
}

/**
 * Statements and transactions that no guarded part makes: each is one step, after which the run may
 * die. `change` alters a transaction on purpose.
 */
export function guardDatabase(prisma: PrismaClient, change = (tx: Tx): Tx => tx): PrismaClient {
  // Only the form that the service uses.
  const transaction = (act: (tx: Tx) => Promise<unknown>, ...options: [object?]) =>
    prisma.$transaction((tx) => act(change(tx)), ...options);
  return guardedView({ $transaction: transaction }, prisma);
}

/** `own`: replaces what `target` has. */
function guardedView<T extends object>(own: object, target: T): T {
  return new Proxy(target, {
    get(_, key) {
      const holder = key in own ? own : target;
      const value: unknown = Reflect.get(holder, key);
      if (typeof value === 'function') return guard(value.bind(holder), true);
      return typeof value === 'object' && value !== null ? guardedView({}, value) : value;
    },
  });
}

const guarded = Symbol('guarded');
const never = new Promise<never>(() => undefined);

function guard(asked: (...args: unknown[]) => unknown, inner: boolean) {
  if (guarded in asked) return asked;
  const wrapped = (...args: unknown[]) => {
    const run = current.getStore();
    if (run?.isDead) return never;
    // What an inner part calls is part of the same step.
    const answer = inner ? current.exit(() => asked(...args)) : asked(...args);
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
