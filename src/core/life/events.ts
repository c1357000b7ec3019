/**
 * Every event of a domain, each with its evidence. Written in the transaction that makes it so (src/db/events.ts), shown in
 * the timeline, streamed and sent to webhooks; docs/lifecycle.md lists the same ones.
 */
import type { Finding, FindingCode } from '../diagnosis/findings.ts';
import type { DnsRecord } from '../names/instructions.ts';
import type { Redirect } from '../names/redirects.ts';
import type { TransitionEvent } from './lifecycle.ts';

type Findings = { readonly findings: readonly Finding[] };

/** What happened, with its evidence. The store adds the domain, the time and the number. */
export type DomainEvent =
  | { readonly type: 'domain.reverify_requested' }
  /** `record`: the one to create, as far as is known before the first check. */
  | { readonly type: 'domain.added'; readonly record: DnsRecord }
  | FindingsChanged
  /** `findings`: of the last two what warns although the record is right. */
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
  /** `proof`: by what the DNS says whose the name is: a CNAME to the new project's target, or its TXT record. */
  | {
      readonly type: 'domain.claimed_elsewhere';
      readonly proof: 'cname' | 'txt';
      /** What the DNS shows to everybody: the CNAME's target, or the name at which the TXT record stands. */
      readonly found: string;
    }
  /** `primary` and `redirects`: what of the project's domain settings went with it. */
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
  /** No other one came in time: the domain is not served until one does. */
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

/** Every reason why an escalation can be closed. */
export const escalationEnds = [
  'certificate_issued',
  'cause_changed',
  'domain_failed',
  'domain_removed',
  'claimed_elsewhere',
  'closed_by_operator',
] as const;
/** One of `escalationEnds`. */
export type EscalationEnd = (typeof escalationEnds)[number];

/** An event's type, as it is stored, streamed and sent to webhooks. */
export type EventType = DomainEvent['type'];

/** A transition that a check, or the end of a certificate seen at that check, has brought about. */
export type CheckTransition = {
  readonly type: TransitionEvent;
  /** `certificate`: it has expired. */
  readonly because: 'check' | 'certificate';
  readonly findings: readonly Finding[];
  /** Read for `certificate.ended` alone. */
  readonly certificateEndsAt: Date;
};

/** Returns the event of a transition. Throws for `domain.live` and `domain.claimed_elsewhere`: no check yields them. */
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
      throw new Error(`no check yields ${type}: the certificate, or another's proof does`);
    case 'certificate.ended':
      return { type, expiresAt: transition.certificateEndsAt };
  }
}

const titles: { readonly [T in EventType]: string } = {
  'domain.added': 'Added',
  'domain.findings_changed': 'New findings',
  'domain.verified': 'Verified: the DNS is right',
  'domain.live': 'Live',
  'domain.failed': 'Failed',
  'domain.unverified': 'Pending again: the DNS changed before the certificate came',
  'domain.reverify_requested': 'Check requested',
  'domain.drifted': 'Drifted: the DNS leads elsewhere',
  'domain.recovered': 'Live again: the DNS is repaired',
  'domain.claimed_elsewhere': 'Another project’s record answers for the name',
  'domain.removed': 'Removed; traffic stopped',
  'certificate.issued': 'Certificate issued',
  'certificate.renewed': 'Certificate renewed',
  'certificate.ended': 'The certificate expired before it was renewed',
  'certificate.failed': 'Refused by the certificate authority',
  'escalation.opened': 'Operator notified',
  'escalation.closed': 'Escalation closed',
};

/** Returns a few words; the type itself where only a later version, with the same database, knows it. */
export function eventTitle(type: string): string {
  const known: Readonly<Record<string, string>> = titles;
  return known[type] ?? type;
}

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
