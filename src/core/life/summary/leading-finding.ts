/** The finding that decides the headline. */
import {
  type Actor,
  explain,
  type Finding,
  type FindingCode,
  type Severity,
} from '../../diagnosis/findings.ts';
import type { SummaryAction, SummaryInput } from './summary-types.ts';

export type LeadingFinding = {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
  readonly summary: string;
};

/** Findings that block the customer come first. Null if all findings are harmless. */
export function headlineOf({ findings }: Pick<SummaryInput, 'findings'>): LeadingFinding | null {
  const all = leadingIn(findings);
  return all.find(isCustomersBlock) ?? all[0] ?? null;
}

/** As `headlineOf`, without findings that the platform has to fix. */
export function othersThanOurs({ findings }: Pick<SummaryInput, 'findings'>) {
  const all = leadingIn(findings).filter(({ actor }) => actor !== 'platform');
  return all.find(isCustomersBlock) ?? all[0] ?? null;
}

export function isOurs({ findings }: Pick<SummaryInput, 'findings'>): boolean {
  return leadingIn(findings).some(
    ({ severity, actor }) => severity === 'blocks' && actor === 'platform',
  );
}

function isCustomersBlock({ severity, actor }: LeadingFinding): boolean {
  return severity === 'blocks' && actor === 'customer';
}

function leadingIn(findings: readonly Finding[]): readonly LeadingFinding[] {
  return findings
    .filter((finding) => !isHarmless(finding))
    .map((finding) => {
      const { code, severity, actor, summary } = explain(finding);
      return { code, severity, actor, summary };
    });
}

/** A proxy that passes challenges on works, and so does a wildcard that may be intended. */
function isHarmless(finding: Finding): boolean {
  if (finding.code === 'wildcard_answers') return true;
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

/** Null: not by editing records at the DNS provider. */
export function actionFor(leading: LeadingFinding | null): SummaryAction | null {
  if (leading === null) return 'open_dns';
  return isAtRegistrar(leading.code) || leading.actor !== 'customer' ? null : 'open_dns';
}
