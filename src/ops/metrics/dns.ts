/** What became of the questions that were sent, by whose servers were asked. */
import { LRUCache } from 'lru-cache';
import { Counter, type Registry } from 'prom-client';
import { type CountQuestion, questionOutcomes } from '../../dns/servers/question-outcome.ts';

/** Our choice: the large operators of the world, and not every server that a customer runs at home. */
const places = { operators: 30, askedBefore: 100 } as const;
const REMEMBERED_MAX = 10_000;

export function createDnsMetrics(registry: Registry): CountQuestion {
  const questions = new Counter({
    name: 'signpost_dns_questions_total',
    help: 'Questions sent to name servers, by operator (the 30 that were the first to be asked 100 questions, the others together as other) and outcome',
    labelNames: ['operator', 'outcome'],
    registers: [registry],
  });
  const named = createNamedOperators(places);
  for (const outcome of questionOutcomes) {
    questions.inc({ operator: 'recursive', outcome }, 0);
    questions.inc({ operator: 'other', outcome }, 0);
  }
  return (operator, outcome) => questions.inc({ operator: named(operator), outcome });
}

/**
 * Which operators have a series of their own: whoever is asked `askedBefore` questions while there is a place. A place is
 * kept, because a counter that fell would look like a restart.
 */
export function createNamedOperators({
  operators,
  askedBefore,
}: {
  readonly operators: number;
  readonly askedBefore: number;
}): (operator: string) => string {
  const named = new Set<string>(['recursive']);
  const asked = new LRUCache<string, number>({ max: REMEMBERED_MAX });
  return (operator) => {
    if (named.has(operator)) return operator;
    if (named.size > operators) return 'other';
    const times = (asked.get(operator) ?? 0) + 1;
    asked.set(operator, times);
    if (times <= askedBefore) return 'other';
    named.add(operator);
    asked.delete(operator);
    return operator;
  };
}
