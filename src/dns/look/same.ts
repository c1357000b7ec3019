/** Whether two looks saw the same. */
import { type Answer, type CaaRecord, recordsOf } from '../../core/observation.ts';

/** The same names, in the same order. */
export function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.join(' ') === other.join(' ');
}

/** Whatever the TTL, and in whatever order, also that of the fields: a database keeps them in its own. */
export function isSame<R extends string | CaaRecord>(one: Answer<R>, other: Answer<R>): boolean {
  const textOf = (answer: Answer<R>) =>
    [answer.kind, ...recordsOf(answer).map(recordText).sort()].join('\n');
  return textOf(one) === textOf(other);
}

function recordText(record: string | CaaRecord): string {
  return typeof record === 'string' ? record : `${record.flags} ${record.tag} ${record.value}`;
}
