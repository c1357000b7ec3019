/** Why a verified domain has no certificate after 30 minutes, in the order in which the causes are looked for. */
import type { Finding } from './diagnosis/findings.ts';

export type EscalationCause =
  | 'caa_unknown'
  | 'dns_unknown'
  | 'dns_unsettled'
  | 'authority_rate_limited'
  | 'authority_refused'
  | 'authority_unreachable';

/** What happens next by itself, in words for operator and customer alike. */
export const nextActions: { readonly [C in EscalationCause]: string } = {
  caa_unknown:
    'The CAA records are looked up again; the certificate is ordered as soon as they answer.',
  dns_unknown: 'The DNS is looked up again; the certificate is ordered as soon as it answers.',
  dns_unsettled:
    'The DNS is looked up again; the certificate is ordered as soon as its servers agree and its signatures are good.',
  authority_rate_limited: 'The order is placed again when the authority allows it.',
  authority_refused: 'A new order is placed now, and again at 100 minutes, then daily.',
  authority_unreachable:
    'The order is continued as soon as the authority answers; a new attempt runs now.',
};

/** The likeliest cause, and what happens next without anybody doing anything. */
export function escalationCause(
  { findings }: { readonly findings: readonly Finding[] },
  problem: { readonly type: string } | null,
): { readonly cause: EscalationCause; readonly nextAction: string } {
  const cause = likeliest(new Set(findings.map(({ code }) => code)), problem);
  return { cause, nextAction: nextActions[cause] };
}

function likeliest(
  codes: ReadonlySet<string>,
  problem: { readonly type: string } | null,
): EscalationCause {
  if (codes.has('caa_unknown')) return 'caa_unknown';
  if (codes.has('dns_unknown')) return 'dns_unknown';
  if (codes.has('name_servers_disagree') || codes.has('dnssec_bogus')) return 'dns_unsettled';
  if (problem?.type === 'rate_limited') return 'authority_rate_limited';
  return problem === null ? 'authority_unreachable' : 'authority_refused';
}
