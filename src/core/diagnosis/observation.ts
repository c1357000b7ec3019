/**
 * What one check of the DNS saw. Types only; src/dns/ makes these values and src/core/diagnosis/ says what they mean. An
 * observation is plain JSON: it is stored with the check, and shown as it is.
 */

/**
 * The outcome of one query. `nodata` (RFC 2308, 2.2) and `nxdomain` are answers; the last three are not: a query that failed
 * never counts as "there is none".
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

/** An answer that says something about the DNS, not about our query. */
export type Conclusive<R> = Extract<Answer<R>, { kind: 'records' | 'nodata' | 'nxdomain' }>;

/** Whether an answer says something about the name, rather than that the query failed. */
export function isConclusive<R>(answer: Answer<R>): answer is Conclusive<R> {
  return answer.kind === 'records' || answer.kind === 'nodata' || answer.kind === 'nxdomain';
}

/** Returns the records of an answer; an empty list for one without any, and for a query that was not made. */
export function recordsOf<R>(answer: Answer<R> | null): readonly R[] {
  return answer?.kind === 'records' ? answer.records : [];
}

/** A CAA record as published (RFC 8659, 4.1). `flags` 0 to 255; `value` with foreign bytes escaped as \DDD. */
export type CaaRecord = { readonly flags: number; readonly tag: string; readonly value: string };

/**
 * The CAA answer at one step of the climb, alias chains followed (RFC 8659, 3). `publishedAt`: the end of the chain,
 * whose answer it is, where that is another name.
 */
export type CaaLevel = {
  readonly name: string;
  readonly publishedAt?: string;
  readonly answer: Answer<CaaRecord>;
};

/**
 * How one server of the zone behaved. `refused`, `not_authoritative`, `servfail` and `malformed`: it is listed for the
 * zone and does not know it. `no_address` and `reserved_address`: there is nowhere to ask it. `not_asked`: our own
 * limits kept us from asking; nothing is known of it.
 */
export type ServerState =
  | 'answers'
  | 'refused'
  | 'not_authoritative'
  | 'servfail'
  | 'malformed'
  | 'timeout'
  | 'no_address'
  | 'reserved_address'
  | 'not_asked';

/** The zone's SOA record as a server has it. `negativeTtlSeconds`: how long "there is none" may be kept (RFC 2308, 5). */
export type Soa = { readonly serial: number; readonly negativeTtlSeconds: number };

/**
 * What one server shows at the host name. Names are lower case without a trailing dot, foreign bytes
 * escaped; `a` and `aaaa` hold the addresses at the name itself, never those behind an alias.
 */
export type ServerView = {
  /** The server's name, or its address where it was configured by address. */
  readonly server: string;
  /** The queried address, or the address that is not allowed; null without an address. */
  readonly address: string | null;
  readonly state: ServerState;
  /** Of its answer to the question for A: the AA flag and the RCODE; null where none came. */
  readonly aa: boolean | null;
  readonly rcode: number | null;
  readonly cname: Answer<string>;
  readonly a: Answer<string>;
  readonly aaaa: Answer<string>;
  /** Null where it was not asked: beside an alias there is nothing, and one server is enough. `10 mx.example.net` */
  readonly mx: Answer<string> | null;
  readonly txt: Answer<string> | null;
  readonly soa: Soa | null;
  /** Until its first answer, in milliseconds. */
  readonly rttMs: number | null;
};

/** Who is responsible for the host name, asked of the zone above. Server names are sorted. */
export type Delegation =
  | {
      readonly kind: 'delegated';
      /** The zone the host name is in, and the one that delegates it. */
      readonly zone: string;
      readonly parent: string;
      readonly atParent: readonly string[];
      /** The zone's own NS set; null where none of its servers showed it. */
      readonly atZone: readonly string[] | null;
      /** The TTL of the delegation at the parent. */
      readonly ttlSeconds: number;
    }
  /** The registry's server says that `zone` does not exist. */
  | { readonly kind: 'unregistered'; readonly zone: string; readonly parent: string };

/** An extended error of a resolver (RFC 8914); `text` is foreign, with bytes outside printable ASCII escaped as \DDD. */
export type ExtendedError = { readonly code: number; readonly text: string };

/** What a validating recursive server shows the world at the host name. */
export type ResolverView = {
  /** Its address. */
  readonly server: string;
  readonly cname: Answer<string>;
  readonly a: Answer<string>;
  readonly aaaa: Answer<string>;
  /** For how many seconds more it keeps a "there is none"; null where it says nothing of the kind. */
  readonly negativeTtlSeconds: number | null;
  /** The AD flag (RFC 4035, 3.2.3): it has checked the signatures. */
  readonly authenticated: boolean;
  /** After a SERVFAIL: whether it answers when asked not to check signatures (CD). Null: not tried. */
  readonly answersUnchecked: boolean | null;
  readonly errors: readonly ExtendedError[];
  readonly rttMs: number | null;
};

/** The CNAME at another name, asked to explain why the one at the host name is missing or wrong. */
export type NearbyName = { readonly name: string; readonly cname: Answer<string> };

/** What stands around a host name that is not right, and around one that is: whether a wildcard answers for it. */
export type Nearby = {
  /** A random name beside the host name, e.g. what `*.example.com` gives (RFC 4592). Null: not asked. */
  readonly sibling: {
    readonly cname: Answer<string>;
    readonly a: Answer<string>;
  } | null;
  /** docs.example.com.example.com: the full name typed into a form that adds the zone. */
  readonly doubled: NearbyName | null;
  /** Names that the record may have been created at by mistake, e.g. www.docs.example.com and example.com. */
  readonly wrongHosts: readonly NearbyName[];
  /** Where an alias that is not the target leads, itself included; at most 8 names. Null: there is none. */
  readonly chain: {
    readonly names: readonly string[];
    readonly end: 'target' | 'loop' | 'elsewhere' | 'unknown';
  } | null;
};

/** One check of a host name. */
export type Observation = {
  readonly hostname: string;
  /** When it was made, RFC 3339. */
  readonly at: string;
  /** `authoritative`: the zone's name servers were queried; `recursive`: the configured resolvers. */
  readonly view: 'authoritative' | 'recursive';
  /** Why the zone's own servers were not asked; null where they were. */
  readonly whyRecursive: 'configured' | 'port_53_blocked' | null;
  /** Null where the zone above gave no usable answer, or was not asked. */
  readonly delegation: Delegation | null;
  /** Never empty: a name whose servers could not even be found has one view that says why. */
  readonly servers: readonly [ServerView, ...ServerView[]];
  /** Empty unless the zone's own servers have it right: a query before that would plant a "there is none". */
  readonly world: readonly ResolverView[];
  readonly nearby: Nearby;
  /**
   * The climb, nearest level first, down to the first level that has a set or gives no answer. Made as if the record
   * were there already, so that everything can be repaired in one visit; null where no answer said where it points.
   */
  readonly caa: readonly CaaLevel[] | null;
  /**
   * What the target resolves to (or PLATFORM_ADDRESSES): asked for an apex, which is compared by addresses only, and where
   * addresses stand in a CNAME's way.
   */
  readonly targetAddresses: readonly string[];
  /** What it took: messages sent (retries and TCP included), bytes received, milliseconds. */
  readonly cost: { readonly questions: number; readonly bytes: number; readonly ms: number };
};
