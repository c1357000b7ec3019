/** What can be said about a customer's DNS: the code, its evidence, how grave it is and who has to act. */

import type { Proof } from '../names/proof.ts';
import type { CaaDenial, CaaHint } from './caa/caa-set.ts';
import type { ExtendedError, ServerState } from './observation.ts';

export type Severity = 'blocks' | 'warns' | 'informs';
export type Actor = 'customer' | 'dns_provider' | 'platform';

/**
 * What the record must do: lead visitors of `hostname` to `target`. `zone`: the zone that it goes into, where that is
 * not the registrable domain but one delegated below it.
 */
type Wanted = { readonly hostname: string; readonly target: string; readonly zone?: string };

/** One thing worth saying about a domain, with its evidence. Stored as it is; worded by explain.ts. */
export type Finding =
  | (Wanted & {
      readonly code: 'record_missing';
      /** `nxdomain`: nothing at all has this name; `nodata`: it exists, without the record. */
      readonly seen: 'nxdomain' | 'nodata';
      readonly provider?: string;
      readonly ourAddresses?: readonly string[];
      /** The name's MX records: a CNAME would end its mail. */
      readonly exchanges?: readonly string[];
      readonly hints?: readonly Hint[];
    })
  | (Wanted & {
      readonly code: 'cname_mismatch';
      readonly found: string;
      readonly hints?: readonly Hint[];
    })
  /** `names`: the aliases in a circle, the first one again at the end. */
  | (Wanted & { readonly code: 'cname_loop'; readonly names: readonly string[] })
  | (Wanted & {
      readonly code: 'cname_at_apex';
      readonly found: string;
      readonly provider?: string;
      readonly ourAddresses?: readonly string[];
    })
  | (Wanted & {
      readonly code: 'conflicting_a' | 'conflicting_aaaa';
      readonly addresses: readonly string[];
      /** The platform's own addresses among them: right today, but a subdomain must follow the target. */
      readonly ours: readonly string[];
      readonly exchanges?: readonly string[];
      readonly hints?: readonly Hint[];
    })
  /** `exchanges`: `10 mx.example.net`. A CNAME here would end the mail of this name (RFC 1034, 3.6.2). */
  | (Wanted & { readonly code: 'mail_at_name'; readonly exchanges: readonly string[] })
  /** Only some of our addresses, and nothing foreign. */
  | (Wanted & {
      readonly code: 'apex_partial';
      readonly addresses: readonly string[];
      readonly missing: readonly string[];
    })
  | (Wanted & {
      readonly code: 'apex_mixed';
      readonly ours: readonly string[];
      readonly others: readonly string[];
    })
  | (Wanted & {
      readonly code: 'apex_elsewhere';
      readonly addresses: readonly string[];
      readonly provider?: string;
      /** What could stand there instead, where the provider has no ALIAS. */
      readonly ourAddresses?: readonly string[];
    })
  /** `right`: the servers that have the record; `others`: those that do not, with what they show instead. */
  | (Wanted & {
      readonly code: 'name_servers_disagree';
      readonly right: readonly string[];
      readonly others: readonly { readonly server: string; readonly shows: string }[];
    })
  | {
      readonly code: 'name_server_lame';
      readonly hostname: string;
      readonly zone: string;
      readonly servers: readonly { readonly server: string; readonly outcome: ServerState }[];
    }
  | {
      readonly code: 'name_server_unreachable';
      readonly hostname: string;
      readonly zone: string;
      readonly servers: readonly { readonly server: string; readonly outcome: ServerState }[];
    }
  | {
      readonly code: 'delegation_mismatch';
      readonly hostname: string;
      readonly zone: string;
      readonly parent: string;
      readonly onlyAtParent: readonly string[];
      readonly onlyAtZone: readonly string[];
    }
  | {
      readonly code: 'domain_unregistered';
      readonly hostname: string;
      readonly domain: string;
      readonly registry: string;
    }
  /** `wildcard`: `*.example.com` */
  | (Wanted & { readonly code: 'wildcard_answers'; readonly wildcard: string })
  | (Wanted & {
      readonly code: 'proxied';
      readonly by: string;
      readonly addresses: readonly string[];
    })
  /** Addresses that nobody on the internet can reach; `range` as ipaddr.js calls it, `at` the name they stand at. */
  | {
      readonly code: 'reserved_address';
      readonly hostname: string;
      readonly addresses: readonly {
        readonly at: string;
        readonly address: string | null;
        readonly range: string;
      }[];
    }
  | {
      readonly code: 'dnssec_bogus';
      readonly hostname: string;
      readonly zone: string;
      readonly errors: readonly ExtendedError[];
    }
  | {
      readonly code: 'dns_unknown';
      readonly hostname: string;
      readonly servers: readonly { readonly server: string; readonly outcome: Outcome | Unasked }[];
      /** What resolvers said about it (RFC 8914). */
      readonly errors?: readonly ExtendedError[];
    }
  /** The zone has it right; some resolvers remember what was there before, at the longest `until` (RFC 3339). */
  | (Wanted & {
      readonly code: 'old_answer_cached';
      readonly remembered: 'negative' | 'positive';
      readonly resolvers: readonly { readonly server: string; readonly shows: string }[];
      readonly until: string | null;
    })
  | {
      readonly code: 'caa_blocks';
      readonly hostname: string;
      /** Where the set was found: the host name or an ancestor (RFC 8659, 3). */
      readonly foundAt: string;
      /** The name behind `foundAt`'s alias that holds the set; `ours`: the platform's own target. */
      readonly publishedAt?: string;
      readonly ours?: true;
      /** The set in presentation form, e.g. `0 issue "ca.example"`. */
      readonly records: readonly string[];
      /** The record that would allow us, in presentation form. */
      readonly toAdd: string;
      /** Those that would allow the certificate authorities that stand in for the first, where there are any. */
      readonly orToAdd?: readonly string[];
      /** Those that forbid whatever else is there (RFC 8659, 4.1: critical and not understood); no record helps beside them. */
      readonly toRemove?: readonly string[];
      readonly reason?: CaaDenial;
      /** Our validation method, where `validationmethods` of the record for our authority leaves it out (RFC 8657, 4). */
      readonly method?: string;
      readonly hint?: CaaHint;
      /** What the RFCs alone make of the same records. */
      readonly rfc?: 'allow' | 'deny';
    }
  /**
   * An apex that another project holds, or has pending, too: addresses do not say whose it is, so it moves nowhere until
   * `proof.record` is there. `proof` is missing in findings of before there was one.
   */
  | { readonly code: 'held_elsewhere'; readonly hostname: string; readonly proof?: Proof }
  | {
      readonly code: 'caa_unknown';
      readonly hostname: string;
      readonly name: string;
      /** As in `caa_blocks`. */
      readonly publishedAt?: string;
      readonly ours?: true;
      /**
       * Missing: the servers of the name's own zone. `resolver`: our resolvers in their place. `registry`: our resolvers,
       * about a name above the registrable domain.
       */
      readonly asked?: 'resolver' | 'registry';
      /** `nxdomain` only of a top-level domain: an answer that cannot be right. */
      readonly outcome: Outcome | 'nxdomain';
    }
  /** Our authority may issue, but not for a good reason, or not for long. */
  | {
      readonly code: 'caa_warns';
      readonly hostname: string;
      readonly foundAt: string;
      readonly records: readonly string[];
      readonly reasons: readonly CaaWarning[];
    };

/** Why a server could not tell. */
export type Outcome = 'servfail' | 'refused' | 'timeout';

/** Why a server was not even asked. */
export type Unasked = Extract<ServerState, 'no_address' | 'reserved_address' | 'not_asked'>;

/**
 * `rfc_denies`: by the letter of the RFCs the set forbids our authority. `account_untold`: it names an account, and we
 * do not know ours yet. `misspelt`: a record that was meant for our authority allows nobody.
 */
export type CaaWarning = 'rfc_denies' | 'account_untold' | 'misspelt';

/** The likely slip behind a finding. */
export type Hint =
  /** It arrives at the target by a detour; the interface wants the exact value. `via`: the names in between. */
  | { readonly code: 'cname_indirect'; readonly via: readonly string[] }
  | { readonly code: 'doubled_name'; readonly name: string }
  | { readonly code: 'wrong_host'; readonly name: string }
  /** The zone was added to the value: it lacks its trailing dot. */
  | { readonly code: 'relative_target'; readonly found: string }
  | { readonly code: 'txt_instead_of_cname'; readonly text: string }
  | { readonly code: 'wildcard_masks'; readonly wildcard: string }
  /** The target with a scheme, a path or quotes around it. */
  | { readonly code: 'trailing_junk'; readonly found: string };

export type HintCode = Hint['code'];
export type FindingCode = Finding['code'];
export type FindingOf<C extends FindingCode> = Finding & { readonly code: C };

/** `blocks`: the domain cannot go on. A look that could not tell only informs: nothing is known to be wrong. */
export const severities: { readonly [C in FindingCode]: Severity } = {
  domain_unregistered: 'blocks',
  name_servers_disagree: 'blocks',
  proxied: 'blocks',
  conflicting_a: 'blocks',
  conflicting_aaaa: 'blocks',
  cname_loop: 'blocks',
  cname_mismatch: 'blocks',
  cname_at_apex: 'blocks',
  apex_mixed: 'blocks',
  apex_elsewhere: 'blocks',
  record_missing: 'blocks',
  // Since 2026-03-15 every public authority validates DNSSEC (CA/Browser Forum, ballot SC-085).
  dnssec_bogus: 'blocks',
  caa_blocks: 'blocks',
  // A certificate authority must treat an unanswered CAA question as a refusal (RFC 8659, 3).
  caa_unknown: 'blocks',
  held_elsewhere: 'blocks',
  mail_at_name: 'warns',
  name_server_lame: 'warns',
  name_server_unreachable: 'warns',
  delegation_mismatch: 'warns',
  wildcard_answers: 'warns',
  reserved_address: 'warns',
  caa_warns: 'warns',
  apex_partial: 'informs',
  old_answer_cached: 'informs',
  dns_unknown: 'informs',
};

export const actors: { readonly [C in FindingCode]: Actor } = {
  domain_unregistered: 'customer',
  name_servers_disagree: 'dns_provider',
  proxied: 'customer',
  conflicting_a: 'customer',
  conflicting_aaaa: 'customer',
  cname_loop: 'customer',
  cname_mismatch: 'customer',
  cname_at_apex: 'customer',
  apex_mixed: 'customer',
  apex_elsewhere: 'customer',
  record_missing: 'customer',
  dnssec_bogus: 'customer',
  caa_blocks: 'customer',
  caa_unknown: 'dns_provider',
  held_elsewhere: 'customer',
  mail_at_name: 'customer',
  name_server_lame: 'dns_provider',
  name_server_unreachable: 'dns_provider',
  delegation_mismatch: 'customer',
  wildcard_answers: 'customer',
  reserved_address: 'customer',
  caa_warns: 'customer',
  apex_partial: 'dns_provider',
  old_answer_cached: 'platform',
  dns_unknown: 'dns_provider',
};
