/**
 * Every event of a domain, each with its evidence. Written in the transaction that makes it so (src/db/events.ts), shown in
 * the timeline, streamed and sent to webhooks; docs/lifecycle.md lists the same ones.
 */
import type { Finding } from '../diagnosis/findings.ts';
import type { DnsRecord } from '../names/instructions.ts';
import type { Redirect } from '../names/redirects.ts';
import type { FindingsChanged } from './findings-changed.ts';
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
