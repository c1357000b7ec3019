/** What happened to a domain, in a few words: for its page and for the command line. */
import type { EventType } from './events.ts';

const titles: { readonly [T in EventType]: string } = {
  'domain.added': 'Added',
  'domain.findings_changed': 'The check found something new',
  'domain.verified': 'Verified: the DNS is right',
  'domain.live': 'Live',
  'domain.failed': 'Failed',
  'domain.unverified': 'Pending again: the DNS changed before the certificate came',
  'domain.reverify_requested': 'Somebody asked for a check',
  'domain.drifted': 'Drifted: the DNS leads elsewhere',
  'domain.recovered': 'Live again: the DNS is repaired',
  'domain.claimed_elsewhere': 'Another project’s record answers for the name',
  'domain.removed': 'Removed; traffic stopped',
  'certificate.issued': 'Certificate issued',
  'certificate.renewed': 'Certificate renewed',
  'certificate.ended': 'The certificate ended before another one came',
  'certificate.failed': 'The certificate authority refused',
  'escalation.opened': 'An operator was called',
  'escalation.closed': 'The operator’s case was closed',
};

/** The type itself where a later version, that writes to the same database, tells more. */
export function eventTitle(type: string): string {
  const known: Readonly<Record<string, string>> = titles;
  return known[type] ?? type;
}
