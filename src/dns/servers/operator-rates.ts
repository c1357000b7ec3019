/** Rate limit per DNS operator over all of its servers. */
import { createTokenBuckets, type TokenRate } from '../../net/token-buckets.ts';
import type { QueryBudget } from '../wire/budget.ts';
import { createLine, type Line } from './line.ts';

export type OperatorRates = {
  /** In turns of owners; false at the budget's deadline. A promise only if it has to wait. */
  readonly take: (operator: string, budget: Turn) => boolean | Promise<boolean>;
};

type Turn = Pick<QueryBudget, 'deadline' | 'owner'>;
type Waiting = { readonly line: Line; timer: NodeJS.Timeout | undefined };

/** `now`: monotonic milliseconds. */
export function createOperatorRates(rate: TokenRate, now: () => number): OperatorRates {
  const buckets = createTokenBuckets(rate, now);
  const waiting = new Map<string, Waiting>();

  function serve(operator: string, queue: Waiting): void {
    queue.timer = undefined;
    while (!queue.line.isEmpty()) {
      const waitMs = buckets.take(operator);
      if (waitMs > 0) {
        queue.timer = setTimeout(() => serve(operator, queue), Math.ceil(waitMs));
        return;
      }
      queue.line.next();
    }
  }

  async function wait(operator: string, waitMs: number, budget: Turn): Promise<boolean> {
    const queue = waiting.get(operator) ?? { line: createLine(), timer: undefined };
    waiting.set(operator, queue);
    const turn = queue.line.join(budget.deadline, budget.owner);
    queue.timer ??= setTimeout(() => serve(operator, queue), Math.ceil(waitMs));
    const served = await turn;
    if (queue.line.isEmpty() && waiting.get(operator) === queue) {
      clearTimeout(queue.timer);
      waiting.delete(operator);
    }
    return served;
  }

  return {
    take(operator, budget) {
      if (waiting.has(operator)) return wait(operator, 0, budget);
      const waitMs = buckets.take(operator);
      return waitMs === 0 || wait(operator, waitMs, budget);
    },
  };
}
