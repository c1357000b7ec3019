/** What was examined, as the API answers it and the command line prints it. */
import { explain } from '../core/diagnosis/explain.ts';
import { toUnicodeName } from '../core/idna.ts';
import type { Observation } from '../core/observation.ts';
import type { Examined } from './examine.ts';

/** The Diagnosis of docs/api.md; its schema is in src/http/schemas/diagnosis.ts. */
export function reportOf({ hostname, target, observation, diagnosis, record }: Examined) {
  return {
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    target,
    verdict: diagnosis.verdict,
    record,
    provider: providerOf(diagnosis.provider),
    findings: diagnosis.findings.map(explain),
    observation: seenIn(observation),
  };
}

function providerOf(provider: Examined['diagnosis']['provider']) {
  if (provider === null) return null;
  const { name, apex, where } = provider;
  return { name, apex, where };
}

/** Without the host name, which stands above, and what was asked for the hints alone, which the findings word. */
function seenIn({ hostname: _, nearby: __, ...seen }: Observation) {
  return seen;
}
