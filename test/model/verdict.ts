/** What a check means for a domain, and what blocks its certificate. */
import type { Entry } from './entry.ts';
import type { Shown } from './shown.ts';

/** Right, wrong or unknown; some blocking findings do not set a domain back. */
export function verdictOf(entry: Entry, seen: Shown): 'right' | 'wrong' | 'unknown' {
  if (seen.record === 'silent') return 'unknown';
  if (!pointsHere(entry, seen)) return 'wrong';
  const { servers, caa } = seen;
  const { status } = entry;
  const served = status === 'live' || status === 'drifted';
  // CAA blocks the next certificate, not visitors.
  if (caa === 'forbids' && !served) return 'wrong';
  if (servers === 'disagree') return served || status === 'verified' ? 'unknown' : 'wrong';
  return served || caa === 'allows' ? 'right' : 'unknown';
}

/** The addresses of an apex are the platform's, for any project. */
function pointsHere({ project, apex }: Entry, { record }: Shown): boolean {
  return apex ? typeof record === 'number' : record === project;
}

/** Problems that mean that the CA did not find its challenge. */
const aboutTheChallenge = ['unauthorized', 'connection', 'incorrect_response', 'tls', 'dns'];

/** The likeliest cause of a missing certificate, in order of precedence. */
export function causeOf(entry: Entry, seen: Shown): string {
  const { record, servers, caa } = seen;
  const { refusals, setBack } = entry;
  if (record === 'silent') return 'dns_unknown';
  if (!pointsHere(entry, seen)) return 'dns_changed';
  if (caa === 'forbids') return 'caa_blocks';
  if (servers === 'disagree') return 'dns_unsettled';
  if (caa === 'silent') return 'caa_unknown';
  const last = refusals.findLast(({ at }) => at >= countedSince(entry));
  if (last?.type === 'rate_limited') return 'authority_rate_limited';
  if (last !== undefined) {
    return aboutTheChallenge.includes(last.type) ? 'challenge_unreachable' : 'authority_refused';
  }
  return setBack ? 'authority_unreachable' : 'platform_fault';
}

/** Refusals before the newest certificate or the verification no longer count. */
function countedSince({ certificates, verifiedAt }: Entry): number {
  return Math.max(verifiedAt, ...certificates.map(({ storedAt }) => storedAt));
}
