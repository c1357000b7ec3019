/** What can be said about a customer's DNS: the code, its evidence, how grave it is and who has to act. */

export type Severity = 'blocks' | 'warns' | 'informs';
export type Actor = 'customer' | 'dns_provider' | 'platform';

/** One thing worth saying about a domain, with its evidence. Stored as it is; worded by src/core/diagnosis/explain.ts. */
export type Finding =
  | {
      readonly code: 'record_missing';
      readonly hostname: string;
      readonly target: string;
      /** `nxdomain`: nothing at all has this name; `nodata`: it exists, without the record. */
      readonly seen: 'nxdomain' | 'nodata';
    }
  | {
      readonly code: 'cname_mismatch';
      readonly hostname: string;
      readonly target: string;
      readonly found: string;
    }
  | {
      readonly code: 'conflicting_a' | 'conflicting_aaaa';
      readonly hostname: string;
      readonly target: string;
      readonly addresses: readonly string[];
      /** The platform's own addresses among them: right today, but a subdomain must follow the target. */
      readonly ours: readonly string[];
    }
  | {
      readonly code: 'caa_blocks';
      readonly hostname: string;
      /** Where the set was found: the host name or an ancestor (RFC 8659, 3). */
      readonly foundAt: string;
      /** The set in presentation form, e.g. `0 issue "ca.example"`. */
      readonly records: readonly string[];
      /** The record that would allow us, in presentation form. */
      readonly toAdd: string;
      /** Those that forbid whatever else is there (RFC 8659, 4.1: critical and not understood); no record helps beside them. */
      readonly toRemove?: readonly string[];
    }
  /** An apex that another project serves: addresses do not say whose it is, so it stays where it is. */
  | { readonly code: 'held_elsewhere'; readonly hostname: string }
  | {
      readonly code: 'caa_unknown';
      readonly hostname: string;
      readonly name: string;
      /** `nxdomain` only of a top-level domain: an answer that cannot be right. */
      readonly outcome: Outcome | 'nxdomain';
    }
  | {
      readonly code: 'dns_unknown';
      readonly hostname: string;
      readonly servers: readonly { readonly server: string; readonly outcome: Outcome }[];
    };

/** Why a server could not tell. */
export type Outcome = 'servfail' | 'refused' | 'timeout';

export type FindingCode = Finding['code'];
export type FindingOf<C extends FindingCode> = Finding & { readonly code: C };

/** `blocks`: the domain cannot go on. A look that could not tell only informs: nothing is known to be wrong. */
export const severities: { readonly [C in FindingCode]: Severity } = {
  record_missing: 'blocks',
  cname_mismatch: 'blocks',
  conflicting_a: 'blocks',
  conflicting_aaaa: 'blocks',
  caa_blocks: 'blocks',
  held_elsewhere: 'blocks',
  // A certificate authority must treat an unanswered CAA question as a refusal (RFC 8659, 3).
  caa_unknown: 'blocks',
  dns_unknown: 'informs',
};

export const actors: { readonly [C in FindingCode]: Actor } = {
  record_missing: 'customer',
  cname_mismatch: 'customer',
  conflicting_a: 'customer',
  conflicting_aaaa: 'customer',
  caa_blocks: 'customer',
  held_elsewhere: 'customer',
  caa_unknown: 'dns_provider',
  dns_unknown: 'dns_provider',
};
