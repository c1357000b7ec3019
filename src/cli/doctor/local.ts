/** A check from this machine: the same observer and the same judgement as the service's, without its storage. */

import type { ConfigProblem } from '../../config/combinations.ts';
import { loadConfig } from '../../config/config.ts';
import type { Finding } from '../../core/diagnosis/findings.ts';
import { createExamine, parseExamined, parseTarget, reportOf } from '../../dns/examine.ts';
import { createObserver } from '../../dns/observe/observe.ts';
import { createWire } from '../../dns/wire/wire.ts';
import { renderJson } from '../../net/json.ts';
import { type Io, type Outcome, wrongUsage } from '../command.ts';
import { validHostname } from '../valid-hostname.ts';

/** `accountUntold`: a CAA record names an account, which could not be compared with ours from here. */
export type LocalCheck =
  | { readonly ok: true; readonly json: string; readonly accountUntold: boolean }
  | { readonly ok: false; readonly refusal: Outcome };

/** What a check depends on; whatever else the environment holds is not read, be it right or wrong. */
const relevant = /^(?:DNS_|PLATFORM_|ACME_(?:FALLBACK_)?(?:ISSUER_DOMAINS|DIRECTORY_URL)$)/;

/**
 * The diagnosis as the API would answer it. Our account at the authority is not known here, so a CAA record that names
 * an account passes with a warning.
 */
export async function checkFromHere(
  typed: { readonly hostname: string; readonly target: string },
  env: Io['env'],
): Promise<LocalCheck> {
  const loaded = loadConfig(Object.fromEntries(Object.entries(env).filter(isRelevant)));
  if (!loaded.ok) return refused(loaded.problems.map(inWords).join('; '));
  const { dns, platform, acme } = loaded.config;
  const parsed = parseExamined(typed.hostname, platform.domain);
  if (!parsed.ok) {
    const more = parsed.code === 'invalid_hostname' ? ` ${validHostname}` : '';
    return refused(`${parsed.reason}${more}`);
  }
  const named = parseTarget(typed.target, parsed.hostname.ascii);
  if (!named.ok) return refused(`--target: ${named.reason}`);
  const wire = createWire();
  try {
    const examine = createExamine({
      observer: createObserver({ wire, config: dns, platformAddresses: platform.addresses }),
      authorities: async () =>
        [acme.issuerDomains, ...(acme.fallback ? [acme.fallback.issuerDomains] : [])].map(
          (issuerDomains) => ({ issuerDomains, accountUri: null, method: acme.challenge }),
        ),
      allowPrivate: dns.allowPrivate,
    });
    const examined = await examine({ hostname: parsed.hostname.ascii, target: named.target });
    const accountUntold = examined.diagnosis.findings.some(isAccountUntold);
    return { ok: true, json: renderJson(reportOf(examined)), accountUntold };
  } finally {
    wire.close();
  }
}

function isAccountUntold(finding: Finding): boolean {
  return finding.code === 'caa_warns' && finding.reasons.includes('account_untold');
}

function isRelevant([name]: readonly [string, unknown]): boolean {
  return relevant.test(name);
}

function inWords({ variable, problem }: ConfigProblem): string {
  return `${variable} ${problem}`;
}

function refused(problem: string): LocalCheck {
  return { ok: false, refusal: wrongUsage(problem) };
}
