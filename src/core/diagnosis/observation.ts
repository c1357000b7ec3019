/**
 * What one DNS check saw. Types only: src/dns/ creates these values, and src/core/diagnosis/
 * interprets them. An observation is plain JSON, stored with the check and shown unchanged.
 */

/**
 * The result of one query. `nodata` (RFC 2308, section 2.2) and `nxdomain` are answers. The last
 * three are failures and never mean that no record exists.
 */
export type DnsAnswer<R> =
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

/** An answer about the DNS, as opposed to a failed query. */
export type Conclusive<R> = Extract<DnsAnswer<R>, { kind: 'records' | 'nodata' | 'nxdomain' }>;

export function isConclusive<R>(answer: DnsAnswer<R>): answer is Conclusive<R> {
  return answer.kind === 'records' || answer.kind === 'nodata' || answer.kind === 'nxdomain';
}

/** Returns an empty list for an answer without records, and for a query that was not sent. */
export function recordsOf<R>(answer: DnsAnswer<R> | null): readonly R[] {
  return answer?.kind === 'records' ? answer.records : [];
}

/**
 * As published (RFC 8659, section 4.1). `flags`: 0 to 255. `value`: foreign bytes are escaped as
 * \DDD.
 */
export type CaaRecord = { readonly flags: number; readonly tag: string; readonly value: string };

/**
 * The CAA answer at one level of the climb, with alias chains followed (RFC 8659, section 3).
 * `publishedAt`: the end of the chain, if it is another name.
 */
export type CaaLevel = {
  readonly name: string;
  readonly publishedAt?: string;
  readonly answer: DnsAnswer<CaaRecord>;
};

/**
 * How one of the zone's servers behaved. `refused`, `not_authoritative`, `servfail` and
 * `malformed`: it is listed for the zone but does not serve it. `no_address` and
 * `reserved_address`: it has no address to query. `not_asked`: our own limits prevented the query,
 * so its state is unknown.
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

/**
 * The zone's SOA record from one server. `negativeTtlSeconds`: how long a negative answer can be
 * cached (RFC 2308, section 5).
 */
export type Soa = { readonly serial: number; readonly negativeTtlSeconds: number };

/**
 * What one server returns for the host name. Names are lowercase without a trailing dot, with
 * foreign bytes escaped. `a` and `aaaa` hold the addresses at the name itself, never those behind
 * an alias.
 */
export type ServerView = {
  /** The server's name, or its address if it was configured by address. */
  readonly server: string;
  /** The queried address, or the disallowed one; null without an address. */
  readonly address: string | null;
  readonly state: ServerState;
  /** AA flag and RCODE of the answer to the A query; null without an answer. */
  readonly aa: boolean | null;
  readonly rcode: number | null;
  readonly cname: DnsAnswer<string>;
  readonly a: DnsAnswer<string>;
  readonly aaaa: DnsAnswer<string>;
  /**
   * Null if not queried: an alias excludes other records, and one server is enough. Format: `10
   * mx.example.net`.
   */
  readonly mx: DnsAnswer<string> | null;
  readonly txt: DnsAnswer<string> | null;
  readonly soa: Soa | null;
  /** Milliseconds until its first answer. */
  readonly rttMs: number | null;
};

/** Who is responsible for the host name, according to the parent zone. Server names are sorted. */
export type Delegation =
  | {
      readonly kind: 'delegated';
      /** The host name's zone, and the zone that delegates it. */
      readonly zone: string;
      readonly parent: string;
      readonly atParent: readonly string[];
      /** The zone's own NS set; null if none of its servers returned it. */
      readonly atZone: readonly string[] | null;
      /** The TTL of the delegation in the parent zone. */
      readonly ttlSeconds: number;
    }
  /** The registry's name server says that `zone` does not exist. */
  | { readonly kind: 'unregistered'; readonly zone: string; readonly parent: string };

/**
 * A resolver's extended error (RFC 8914). `text` is foreign; bytes outside printable ASCII are
 * escaped as \DDD.
 */
export type ExtendedError = { readonly code: number; readonly text: string };

/** What a validating resolver returns for the host name. */
export type ResolverView = {
  /** The resolver's address. */
  readonly server: string;
  readonly cname: DnsAnswer<string>;
  readonly a: DnsAnswer<string>;
  readonly aaaa: DnsAnswer<string>;
  /** Seconds for which a negative answer stays cached; null if the resolver does not say. */
  readonly negativeTtlSeconds: number | null;
  /** The AD flag (RFC 4035, section 3.2.3): the resolver validated the signatures. */
  readonly authenticated: boolean;
  /**
   * After SERVFAIL: whether the resolver answers with validation disabled (CD). Null: not tried.
   */
  readonly answersUnchecked: boolean | null;
  readonly errors: readonly ExtendedError[];
  readonly rttMs: number | null;
};

/** The CNAME at another name. It can explain a missing or wrong CNAME at the host name. */
export type NearbyName = { readonly name: string; readonly cname: DnsAnswer<string> };

/** Records around the host name that explain a mistake, and whether a wildcard answers for it. */
export type Nearby = {
  /**
   * A random sibling of the host name: what `*.example.com` returns (RFC 4592). Null: not queried.
   */
  readonly sibling: {
    readonly cname: DnsAnswer<string>;
    readonly a: DnsAnswer<string>;
  } | null;
  /** docs.example.com.example.com: the full name, entered in a form that adds the zone. */
  readonly doubled: NearbyName | null;
  /** Names where the record may be by mistake, such as www.docs.example.com and example.com. */
  readonly wrongHosts: readonly NearbyName[];
  /**
   * Where an alias that is not the target leads, including itself; at most 8 names. Null: no such
   * alias.
   */
  readonly chain: {
    readonly names: readonly string[];
    readonly end: 'target' | 'loop' | 'elsewhere' | 'unknown';
  } | null;
};

/** `unchanged`: a few queries found nothing different from the earlier observation, given here. */
export type Observed = {
  readonly kind: 'unchanged' | 'observed';
  readonly observation: Observation;
};

export type Observation = {
  readonly hostname: string;
  /** When the check was made, RFC 3339. */
  readonly at: string;
  /**
   * Who was queried. `authoritative`: the zone's name servers. `recursive`: the configured
   * resolvers.
   */
  readonly view: 'authoritative' | 'recursive';
  /** Why the zone's own servers were not queried; null if they were. */
  readonly whyRecursive: 'configured' | 'port_53_blocked' | null;
  /** Null if the parent zone gave no usable answer or was not queried. */
  readonly delegation: Delegation | null;
  /** Never empty: if no server was found, one view says why. */
  readonly servers: readonly [ServerView, ...ServerView[]];
  /**
   * Empty unless the zone's own servers are right: a query before that would cache a negative
   * answer.
   */
  readonly world: readonly ResolverView[];
  readonly nearby: Nearby;
  /**
   * The CAA climb, nearest level first, up to the first with a set or without an answer. It assumes
   * that the record exists, so the customer can fix everything at once. Null if no answer says
   * where the name points.
   */
  readonly caa: readonly CaaLevel[] | null;
  /**
   * What the target resolves to, or PLATFORM_ADDRESSES. Needed for an apex, which is compared by
   * addresses, and for addresses that conflict with a CNAME.
   */
  readonly targetAddresses: readonly string[];
  /** Messages sent (including retries and TCP), bytes received, milliseconds. */
  readonly cost: { readonly questions: number; readonly bytes: number; readonly ms: number };
};
