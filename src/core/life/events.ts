/** Every event of a domain, with its evidence. Written in the transaction that causes it. */
import type { Finding, FindingCode } from '../diagnosis/findings.ts';
import type { DnsRecord } from '../names/instructions.ts';
import type { Redirect } from '../names/redirects.ts';
import type { TransitionEvent } from './lifecycle.ts';

type Findings = { readonly findings: readonly Finding[] };

/** The store adds the domain, the time and the sequence number. */
export type DomainEvent =
  /** In the same status, repetitions are counted in this event (`count`, `lastAt`). */
  | { readonly type: 'domain.reverify_requested' }
  /** `record`: the record to create, as far as known before the first check. */
  | { readonly type: 'domain.added'; readonly record: DnsRecord }
  | FindingsChanged
  /** `findings`: for the last two, warnings although the record is correct. */
  | (Findings & {
      readonly type:
        | 'domain.unverified'
        | 'domain.drifted'
        | 'domain.verified'
        | 'domain.recovered';
    })
  | (Findings & {
      readonly type: 'domain.failed';
      readonly reason: 'window_ended' | 'certificate_ended';
    })
  /** `proof`: what proved ownership: a CNAME to the new project's target, or its TXT record. */
  | {
      readonly type: 'domain.claimed_elsewhere';
      readonly proof: 'cname' | 'txt';
      /** Public DNS data: the CNAME's target, or the TXT record's name. */
      readonly found: string;
    }
  /** For the project that holds the name. `isPublished`: the claim's TXT record is in the zone. */
  | { readonly type: 'domain.contested'; readonly isPublished: boolean }
  /** `primary` and `redirects`: the settings that were removed with it. */
  | {
      readonly type: 'domain.removed';
      readonly primary: boolean;
      readonly redirects: readonly Redirect[];
    }
  | {
      readonly type: 'domain.live' | 'certificate.issued' | 'certificate.renewed';
      readonly issuer: string;
      readonly expiresAt: Date;
    }
  /** It was not renewed in time; the domain is not served until a new certificate is issued. */
  | { readonly type: 'certificate.ended'; readonly expiresAt: Date }
  | { readonly type: 'certificate.failed'; readonly problem: string; readonly detail: string }
  | {
      readonly type: 'escalation.opened';
      readonly cause: string;
      readonly summary: string;
      readonly nextAction: string;
    }
  | {
      readonly type: 'escalation.closed';
      readonly cause: string;
      readonly reason: EscalationEnd;
    };

export const escalationEnds = [
  'certificate_issued',
  'cause_changed',
  'domain_failed',
  'domain_removed',
  'claimed_elsewhere',
  'closed_by_operator',
] as const;
export type EscalationEnd = (typeof escalationEnds)[number];

export type EventType = DomainEvent['type'];

/** Caused by a check, or by a certificate that is found expired at that check. */
export type CheckTransition = {
  readonly type: TransitionEvent;
  readonly because: 'check' | 'certificate';
  readonly findings: readonly Finding[];
  readonly certificateEndsAt: Date;
};

/** Throws for `domain.live` and `domain.claimed_elsewhere`, which no check causes. */
export function eventOfCheck(transition: CheckTransition): DomainEvent {
  const { type, because, findings } = transition;
  switch (type) {
    case 'domain.failed':
      return { type, reason: because === 'check' ? 'window_ended' : 'certificate_ended', findings };
    case 'domain.unverified':
    case 'domain.verified':
    case 'domain.recovered':
    case 'domain.drifted':
      return { type, findings };
    case 'domain.reverify_requested':
      return { type };
    case 'domain.live':
    case 'domain.claimed_elsewhere':
      throw new Error(`a check never causes ${type}`);
    case 'certificate.ended':
      return { type, expiresAt: transition.certificateEndsAt };
  }
}

const titles: { readonly [T in EventType]: string } = {
  'domain.added': 'Added',
  'domain.findings_changed': 'The DNS answers changed',
  'domain.verified': 'DNS is right',
  'domain.live': 'Live',
  'domain.failed': 'Failed',
  'domain.unverified': 'The DNS changed before the certificate was issued',
  'domain.reverify_requested': 'Check requested',
  'domain.drifted': 'No longer live: the DNS points elsewhere',
  'domain.recovered': 'Live again',
  'domain.claimed_elsewhere': 'Another project proved ownership of the name',
  'domain.contested': 'Another project added the name, which stays here',
  'domain.removed': 'Removed; traffic stopped',
  'certificate.issued': 'Certificate issued',
  'certificate.renewed': 'Certificate renewed',
  'certificate.ended': 'The certificate expired before it was renewed',
  'certificate.failed': 'Refused by the certificate authority',
  'escalation.opened': 'Operator notified',
  'escalation.closed': 'Escalation closed',
};

/** Falls back to the type itself, which a later version can have stored. */
export function eventTitle(type: string): string {
  const known: Readonly<Record<string, string>> = titles;
  return known[type] ?? type;
}

/** At least one list is not empty. */
export type FindingsChanged = {
  readonly type: 'domain.findings_changed';
  readonly appeared: readonly Finding[];
  /** As in the previous check. A finding with changed evidence is in both lists. */
  readonly cleared: readonly Finding[];
};

const passingEverywhere: readonly string[] = ['until', 'text'];

/** Differs between checks of the same problem. It is stored, but causes no event. */
const passingIn: { readonly [C in FindingCode]?: readonly string[] } = {
  record_missing: ['ourAddresses'],
  cname_at_apex: ['ourAddresses'],
  conflicting_a: ['addresses', 'ours'],
  conflicting_aaaa: ['addresses', 'ours'],
  apex_mixed: ['ours', 'others'],
  apex_elsewhere: ['addresses', 'ourAddresses'],
  apex_partial: ['addresses', 'missing'],
  proxied: ['addresses', 'statuses'],
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

/** Compares in any order; an empty list if nothing changed. */
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

export function areEqual(some: readonly Finding[], others: readonly Finding[]): boolean {
  return isSame(some, others, nothing);
}

const nothing: ReadonlySet<string> = new Set();

/** Ignores evidence that can differ. */
function except(some: readonly Finding[], others: readonly Finding[]): Finding[] {
  return some.filter((finding) => {
    const passing = new Set([...passingEverywhere, ...(passingIn[finding.code] ?? [])]);
    return !others.some((other) => isSame(finding, other, passing));
  });
}

/** Compares by value; the order of fields doesn't matter. */
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
