/** What one DNS check saw. Plain JSON, stored with the check and shown unchanged. */

/** `nodata` (RFC 2308, section 2.2) and `nxdomain` are answers; the last three are failures. */
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
  /** `cutOff`: our own limits or this host ended the query, so it says nothing about the server. */
  | { readonly kind: 'timeout'; readonly cutOff?: true };

export type Conclusive<R> = Extract<DnsAnswer<R>, { kind: 'records' | 'nodata' | 'nxdomain' }>;

export function isConclusive<R>(answer: DnsAnswer<R>): answer is Conclusive<R> {
  return answer.kind === 'records' || answer.kind === 'nodata' || answer.kind === 'nxdomain';
}

export function wasCutOff(answer: DnsAnswer<unknown>): boolean {
  return answer.kind === 'timeout' && answer.cutOff === true;
}

/** Empty for an answer without records, and for a query that was not sent. */
export function recordsOf<R>(answer: DnsAnswer<R> | null): readonly R[] {
  return answer?.kind === 'records' ? answer.records : [];
}

/** RFC 8659, section 4.1. `flags`: 0 to 255. `value`: foreign bytes are escaped as \DDD. */
export type CaaRecord = { readonly flags: number; readonly tag: string; readonly value: string };

/** With alias chains followed (RFC 8659, section 3). `publishedAt`: the end of the chain. */
export type CaaLevel = {
  readonly name: string;
  readonly publishedAt?: string;
  /** Its aliases form a loop or a chain that is too long: no server can answer. */
  readonly endless?: true;
  readonly answer: DnsAnswer<CaaRecord>;
  /** By server, if conclusive answers differ; `answer` is then the first queried server's. */
  readonly servers?: readonly ServerCaa[];
};

export type ServerCaa = Pick<CaaLevel, 'publishedAt' | 'endless' | 'answer'> & {
  readonly server: string;
};

/**
 * From `refused` to `malformed`, the server is listed for the zone but does not serve it. `alias_name`:
 * its name is an alias, which resolvers do not follow (RFC 2181, section 10.3). `lookup_failed`: our
 * resolver gives SERVFAIL for its name. `not_asked`: our own limits prevented the query, so its state is unknown.
 */
export type ServerState =
  | 'answers'
  | 'refused'
  | 'not_authoritative'
  | 'servfail'
  | 'malformed'
  | 'timeout'
  | 'no_address'
  | 'alias_name'
  | 'lookup_failed'
  | 'reserved_address'
  | 'not_asked';

/** `negativeTtlSeconds`: how long a negative answer can be cached (RFC 2308, section 5). */
export type Soa = { readonly serial: number; readonly negativeTtlSeconds: number };

/** Names: lowercase, no trailing dot, escaped. `a`, `aaaa`: at the name, never behind an alias. */
export type ServerView = {
  /** Its name, or its address if it was configured by address. */
  readonly server: string;
  /** Also a disallowed address that was not queried. */
  readonly address: string | null;
  readonly state: ServerState;
  /** Of the answer to the A query. */
  readonly aa: boolean | null;
  readonly rcode: number | null;
  readonly cname: DnsAnswer<string>;
  readonly a: DnsAnswer<string>;
  readonly aaaa: DnsAnswer<string>;
  /** `10 mx.example.net`. Null: not queried, after an alias or if another server was enough. */
  readonly mx: DnsAnswer<string> | null;
  readonly txt: DnsAnswer<string> | null;
  readonly soa: Soa | null;
  /** Milliseconds until its first answer. */
  readonly rttMs: number | null;
};

/** According to the parent zone. Server names are sorted. */
export type Delegation =
  | {
      readonly kind: 'delegated';
      /** The host name's zone, and the zone that delegates it. */
      readonly zone: string;
      readonly parent: string;
      readonly atParent: readonly string[];
      /** The zone's own NS set; null if none of its servers returned it. */
      readonly atZone: readonly string[] | null;
      /** Of the delegation in the parent zone. */
      readonly ttlSeconds: number;
      /** The servers of `parent` have the zone, too, so `atParent` are those of `parent`. */
      readonly sameServers?: true;
      /** Name servers inside the zone whose address at the parent the zone does not have. */
      readonly glue?: readonly GlueDifference[];
    }
  | { readonly kind: 'unregistered'; readonly zone: string; readonly parent: string }
  /** The registry has `zone` without name servers; the servers of `parent` were queried instead. */
  | { readonly kind: 'undelegated'; readonly zone: string; readonly parent: string };

/** Addresses of one family at least, sorted. */
export type GlueDifference = {
  readonly server: string;
  readonly atParent: readonly string[];
  readonly atZone: readonly string[];
};

/** RFC 8914. `text` is foreign: bytes outside printable ASCII are escaped as \DDD. */
export type ExtendedError = { readonly code: number; readonly text: string };

/** What a validating resolver returns for the host name. */
export type ResolverView = {
  /** Its address. */
  readonly server: string;
  readonly cname: DnsAnswer<string>;
  readonly a: DnsAnswer<string>;
  readonly aaaa: DnsAnswer<string>;
  /** How long a negative answer stays cached; null if the resolver does not say. */
  readonly negativeTtlSeconds: number | null;
  /** The AD flag (RFC 4035, section 3.2.3): the resolver validated the signatures. */
  readonly authenticated: boolean;
  /** After SERVFAIL: whether it answers with validation disabled (CD). Null: not tried. */
  readonly answersUnchecked: boolean | null;
  readonly errors: readonly ExtendedError[];
  readonly rttMs: number | null;
};

/** A validating resolver's answer beyond the host name; the rest is as in `ResolverView`. */
export type ValidationView = Pick<ResolverView, 'server' | 'answersUnchecked' | 'errors'> & {
  readonly name: string;
  /** `SOA` of the zone while the record is wrong; `CAA` at a level of the climb. */
  readonly type: 'SOA' | 'CAA';
  readonly outcome: DnsAnswer<unknown>['kind'];
  /** After a failure: the answer without validation. */
  readonly unchecked?: DnsAnswer<unknown>['kind'];
};

export type NearbyName = {
  readonly name: string;
  readonly cname: DnsAnswer<string>;
  /** Whether a random name beside it has the same alias; only queried for the target. */
  readonly wildcard?: boolean;
  /** Only of the domain of a `www` name. */
  readonly a?: DnsAnswer<string>;
};

/** Where an HTTPS record (RFC 9460) sends browsers. */
export type HttpsRecord = {
  /** 0: `target` replaces the name (AliasMode). */
  readonly priority: number;
  /** `.`: the name itself. */
  readonly target: string;
  /** Null: 443. */
  readonly port: number | null;
  /** Addresses of both families. */
  readonly hints: readonly string[];
  /** Whether it has a key for Encrypted Client Hello (RFC 9849). */
  readonly ech: boolean;
  /** What a foreign `target` resolves to. Missing or empty: unknown, or none. */
  readonly addresses?: readonly string[];
};

/** Records around the host name that explain a mistake. */
export type Nearby = {
  /** A random sibling: what `*.example.com` returns (RFC 4592). Null: not queried. */
  readonly sibling: {
    readonly cname: DnsAnswer<string>;
    readonly a: DnsAnswer<string>;
  } | null;
  /** docs.example.com.example.com: the full name in a form that adds the zone. */
  readonly doubled: NearbyName | null;
  /** Names where the record can be by mistake, such as www.docs.example.com. */
  readonly wrongHosts: readonly NearbyName[];
  /** Where a wrong alias leads, including itself; at most 8 names. */
  readonly chain: {
    readonly names: readonly string[];
    readonly end: 'target' | 'loop' | 'elsewhere' | 'unknown';
  } | null;
  /** The DNAME record above the host name that its alias comes from (RFC 6672). */
  readonly dname?: { readonly owner: string; readonly target: string };
  /** Only of an apex: a CNAME excludes it. */
  readonly https?: DnsAnswer<HttpsRecord>;
};

/** What a proxy in front of the name answered at one address where a CA sends its challenge. */
export type ProxyAnswer = {
  readonly address: string;
  /**
   * `edge`: our edge, behind it. `redirect`: to where no CA follows. `none`: no response. `unseen`: this
   * machine cannot recognize our edge.
   */
  readonly result: 'edge' | 'other' | 'redirect' | 'none' | 'unseen';
  /** Of the last response. */
  readonly status: number | null;
};

/** `unchanged`: a few queries found no difference from the earlier observation, given here. */
export type Observed = {
  readonly kind: 'unchanged' | 'observed';
  readonly observation: Observation;
};

export type Observation = {
  readonly hostname: string;
  /** RFC 3339. */
  readonly at: string;
  /** `authoritative`: the zone's name servers. `recursive`: the configured resolvers. */
  readonly view: 'authoritative' | 'recursive';
  /** Null if the zone's own servers were queried. */
  readonly whyRecursive: 'configured' | 'port_53_blocked' | null;
  /** Null if the parent zone gave no usable answer or was not queried. */
  readonly delegation: Delegation | null;
  /** Never empty: if no server was found, one view says why. */
  readonly servers: readonly [ServerView, ...ServerView[]];
  /** Empty unless the zone is right: an earlier query would cache a negative answer. */
  readonly world: readonly ResolverView[];
  /** Missing: nothing was queried. */
  readonly signatures?: readonly ValidationView[];
  readonly nearby: Nearby;
  /**
   * Nearest level first, up to the first with a set or without an answer. Assumes that the record
   * exists. Null if no answer says where the name points.
   */
  readonly caa: readonly CaaLevel[] | null;
  /** What the target resolves to, or PLATFORM_ADDRESSES. Empty: not needed or unknown. */
  readonly targetAddresses: readonly string[];
  /**
   * Whether our resolvers find the servers of the top-level domain. Only queried if a resolver's failure
   * left the check without an answer; false: the failure is ours.
   */
  readonly resolversWork?: boolean;
  /** A server that denies, refuses or fails the name has it for a query in lower case without EDNS. */
  readonly plainAnswer?: true;
  /** Only if a proxy of the zone's own provider is all that the name shows; not from every machine. */
  readonly proxy?: readonly ProxyAnswer[];
  /** Messages sent (including retries and TCP), bytes received, milliseconds. */
  readonly cost: { readonly questions: number; readonly bytes: number; readonly ms: number };
};
