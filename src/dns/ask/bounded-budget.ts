/** A part of a budget, for what must leave something for others. */
import type { Budget } from '../budget.ts';

/** Spends from `budget`, and ends `ms` from now where that is sooner. */
export function boundedBudget(budget: Budget, ms: number): Budget {
  return {
    get questionsLeft() {
      return budget.questionsLeft;
    },
    set questionsLeft(left) {
      budget.questionsLeft = left;
    },
    get bytesLeft() {
      return budget.bytesLeft;
    },
    set bytesLeft(left) {
      budget.bytesLeft = left;
    },
    tcpAsked: budget.tcpAsked,
    deadline: Math.min(budget.deadline, performance.now() + ms),
  };
}
