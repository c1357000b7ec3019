/** What is new since the look before: findings compared by code and evidence. */
import type { Finding } from './diagnosis/findings.ts';

export type FindingsChanged = {
  readonly type: 'domain.findings_changed';
  readonly appeared: readonly Finding[];
  readonly cleared: readonly Finding[];
};

/**
 * Evidence that is another one at every look of the same fault: how long something is remembered, and foreign texts,
 * in which resolvers name a server of many or the time.
 */
const passing: ReadonlySet<string> = new Set(['until', 'text']);

/** What appeared and what is gone; an empty list where nothing changed. */
export function findingsChanged(
  before: readonly Finding[],
  after: readonly Finding[],
): readonly FindingsChanged[] {
  const appeared = except(after, before);
  const cleared = except(before, after);
  return appeared.length + cleared.length === 0
    ? []
    : [{ type: 'domain.findings_changed', appeared, cleared }];
}

function except(some: readonly Finding[], others: readonly Finding[]): Finding[] {
  return some.filter((finding) => !others.some((other) => isSame(finding, other)));
}

/** Equal by value, whatever order a database keeps the fields in. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return false;
  const keys = lasting(one);
  return keys.length === lasting(other).length && keys.every((key) => isSame(one[key], other[key]));
}

function lasting(value: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(value).filter((key) => !passing.has(key));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
