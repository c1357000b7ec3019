/** A look from this machine: the same observer and the same judgement as the service's, without its storage. */
import { type ConfigProblem, loadConfig } from '../../config.ts';
import { parseHostname } from '../../core/hostname.ts';
import { createObserver } from '../../dns/observe.ts';
import { createWire } from '../../dns/wire/wire.ts';
import { createExamine } from '../../doctor/examine.ts';
import { reportOf } from '../../doctor/report.ts';
import { parseTarget } from '../../doctor/target.ts';
import { renderJson } from '../../http/json.ts';
import { type Io, type Outcome, wrongUsage } from '../command.ts';

export type Looked =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly refusal: Outcome };

/** What a look depends on; whatever else the environment has is not looked at, be it right or wrong. */
const relevant = /^(?:DNS_|PLATFORM_|ACME_ISSUER_DOMAINS$)/;

/**
 * The diagnosis as the API would answer it. Our account at the authority is not known here, so a CAA record that names
 * an account passes with a warning.
 */
export async function lookFromHere(
  typed: { readonly hostname: string; readonly target: string },
  env: Io['env'],
): Promise<Looked> {
  const loaded = loadConfig(Object.fromEntries(Object.entries(env).filter(isRelevant)));
  if (!loaded.ok) return refused(loaded.problems.map(inWords).join('; '));
  const { dns, platform, acme } = loaded.config;
  const parsed = parseHostname(typed.hostname, platform.domain);
  if (!parsed.ok) return refused(parsed.reason);
  const named = parseTarget(typed.target);
  if (!named.ok) return refused(`--target: ${named.reason}`);
  const wire = createWire();
  try {
    const examine = createExamine({
      observer: createObserver({ wire, config: dns, platformAddresses: platform.addresses }),
      ca: async () => ({
        issuerDomains: acme.issuerDomains,
        accountUri: null,
        method: 'http-01',
      }),
      allowPrivate: dns.allowPrivate,
    });
    const examined = await examine({ hostname: parsed.hostname.ascii, target: named.target });
    return { ok: true, json: renderJson(reportOf(examined)) };
  } finally {
    wire.close();
  }
}

function isRelevant([name]: readonly [string, unknown]): boolean {
  return relevant.test(name);
}

function inWords({ variable, problem }: ConfigProblem): string {
  return `${variable} ${problem}`;
}

function refused(problem: string): Looked {
  return { ok: false, refusal: wrongUsage(problem) };
}
