/** The finding that decides the headline. */
import { type Actor, explain, type FindingCode, type Severity } from '../../diagnosis/findings.ts';
import type { SummaryInput } from './summary-types.ts';

export type LeadingFinding = {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
  readonly summary: string;
};

/** Null if no finding asks for anything. */
export function headlineOf({ findings }: Pick<SummaryInput, 'findings'>): LeadingFinding | null {
  const [headline] = findings.filter((finding) => !isHarmless(finding));
  if (headline === undefined) return null;
  const { code, severity, actor, summary } = explain(headline);
  return { code, severity, actor, summary };
}

/** A proxy that passes challenges on needs no change. */
function isHarmless(finding: SummaryInput['findings'][number]): boolean {
  return finding.code === 'proxied' && finding.passage === 'passes';
}

export function isAboutCertificate(code: FindingCode): boolean {
  return code === 'caa_blocks' || code === 'caa_unknown' || code === 'caa_warns';
}

/** What only the registrar, or the zone above, can change. */
export function isAtRegistrar(code: FindingCode): boolean {
  return atRegistrar.has(code);
}

const atRegistrar: ReadonlySet<FindingCode> = new Set([
  'domain_unregistered',
  'no_name_servers',
  'domain_parked',
  'dnssec_bogus',
  'delegation_mismatch',
  'glue_mismatch',
  'name_server_lame',
  'name_server_unreachable',
]);
