/** What one look at the DNS can say. Types only; src/dns/ makes these values and src/core/diagnosis/diagnosis.ts judges them. */

/**
 * One question's outcome. `nodata` (RFC 2308, 2.2) and `nxdomain` are answers; the last three are not:
 * "could not tell" never counts as "there is none".
 */
export type Answer<R> =
  | {
      readonly kind: 'records';
      readonly records: readonly [R, ...R[]];
      readonly ttlSeconds: number;
    }
  | { readonly kind: 'nodata' }
  | { readonly kind: 'nxdomain' }
  | { readonly kind: 'servfail' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'timeout' };

/** An answer that is about the DNS and not about us failing to hear it. */
export type Conclusive<R> = Extract<Answer<R>, { kind: 'records' | 'nodata' | 'nxdomain' }>;

/** Whether an answer says something about the name, rather than that we could not tell. */
export function isConclusive<R>(answer: Answer<R>): answer is Conclusive<R> {
  return answer.kind === 'records' || answer.kind === 'nodata' || answer.kind === 'nxdomain';
}

/** The records of an answer; an answer without any gives an empty list. */
export function recordsOf<R>(answer: Answer<R>): readonly R[] {
  return answer.kind === 'records' ? answer.records : [];
}

/** A CAA record as published (RFC 8659, 4.1). `flags` 0 to 255; `value` with foreign bytes escaped as \DDD. */
export type CaaRecord = { readonly flags: number; readonly tag: string; readonly value: string };

/** The CAA answer at one step of the climb, alias chains followed (RFC 8659, 3). */
export type CaaLevel = { readonly name: string; readonly answer: Answer<CaaRecord> };

/**
 * What one server shows at the host name. Names are lower case without a trailing dot, foreign bytes
 * escaped; `a` and `aaaa` hold the addresses at the name itself, never those behind an alias.
 */
export type ServerView = {
  /** The server's name, or its address where it was configured by address. */
  readonly server: string;
  readonly cname: Answer<string>;
  readonly a: Answer<string>;
  readonly aaaa: Answer<string>;
};

/** One look at a host name. */
export type Observation = {
  readonly hostname: string;
  /** `authoritative`: the zone's own servers were asked; `recursive`: the configured resolvers. */
  readonly view: 'authoritative' | 'recursive';
  /** Never empty: a name whose servers could not even be found has one view that says why. */
  readonly servers: readonly [ServerView, ...ServerView[]];
  /** The climb, nearest level first, down to the first level that has a set or gives no answer; only where the pointing is right. */
  readonly caa: readonly CaaLevel[] | null;
  /** What the target resolves to (or PLATFORM_ADDRESSES): asked for an apex, which can be judged by addresses only. */
  readonly targetAddresses: readonly string[];
};
