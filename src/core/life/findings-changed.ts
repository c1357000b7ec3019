/** What is new since the check before: findings compared by code and by the evidence that makes them another one. */
import type { Finding, FindingCode } from '../diagnosis/findings.ts';

/** What differs between two checks; at least one of the lists has an item. */
export type FindingsChanged = {
  readonly type: 'domain.findings_changed';
  readonly appeared: readonly Finding[];
  /** As the check before had them. One whose evidence changed is in both lists. */
  readonly cleared: readonly Finding[];
};

/** How long something is remembered, and foreign texts, in which resolvers name a server of many or the time. */
const passingEverywhere: readonly string[] = ['until', 'text'];

/**
 * Evidence that may be another one at every check of the same fault: addresses rotate, a bad server fails now in one
 * way and now in another, resolvers name the first reason only once. It is stored, but is no event.
 */
const passingIn: { readonly [C in FindingCode]?: readonly string[] } = {
  record_missing: ['ourAddresses'],
  cname_at_apex: ['ourAddresses'],
  conflicting_a: ['addresses', 'ours'],
  conflicting_aaaa: ['addresses', 'ours'],
  apex_mixed: ['ours', 'others'],
  apex_elsewhere: ['addresses', 'ourAddresses'],
  apex_partial: ['addresses', 'missing'],
  proxied: ['addresses'],
  reserved_address: ['addresses'],
  name_servers_disagree: ['shows'],
  name_server_lame: ['outcome'],
  name_server_unreachable: ['outcome'],
  dnssec_bogus: ['errors'],
  old_answer_cached: ['resolvers'],
  dns_unknown: ['outcome', 'errors'],
  caa_blocks: ['publishedAt'],
  caa_unknown: ['outcome', 'publishedAt', 'asked'],
};

/** Returns one event of what appeared and what is gone, in whatever order; an empty list where nothing changed. */
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

/** Whether two checks found the very same in the same order, passing evidence included. */
export function areEqual(some: readonly Finding[], others: readonly Finding[]): boolean {
  return isSame(some, others, nothing);
}

const nothing: ReadonlySet<string> = new Set();

/** Those of `some` that no finding of `others` equals, passing evidence aside. */
function except(some: readonly Finding[], others: readonly Finding[]): Finding[] {
  return some.filter((finding) => {
    const passing = new Set([...passingEverywhere, ...(passingIn[finding.code] ?? [])]);
    return !others.some((other) => isSame(finding, other, passing));
  });
}

/** Equal by value, whatever order a database keeps the fields in. */
function isSame(one: unknown, other: unknown, passing: ReadonlySet<string>): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return false;
  const lasting = (value: object) => Object.keys(value).filter((key) => !passing.has(key));
  const keys = lasting(one);
  return (
    keys.length === lasting(other).length &&
    keys.every((key) => isSame(one[key], other[key], passing))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
