/** `signpost doctor`: checks a host name once, from this machine or through the service. */

import { observingProxies } from '../../certificates/reach/observe-proxied.ts';
import type { ConfigProblem } from '../../config/combinations.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import type { Finding } from '../../core/diagnosis/findings.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { printable } from '../../core/names/printable.ts';
import { examine, parseExamined, parseTarget, reportOf } from '../../dns/examine.ts';
import { createObserver, type Observer } from '../../dns/observe/observe.ts';
import { createWire, type Wire } from '../../dns/wire/wire.ts';
import { renderJson } from '../../net/json.ts';
import { connect, keyIn, type ServiceAnswer } from '../client.ts';
import { type CliExit, exitDone, exitFailed, type Io, wrongUsage } from '../command.ts';
import { createPaint, wantsColor } from '../layout.ts';
import { validHostname } from '../lines.ts';
import { withProgress } from '../progress.ts';
import { readReport } from '../shown.ts';
import { reachFromHere } from './reach.ts';
import { renderReport } from './render.ts';

/** With `target` and without `url`, the check runs on this machine, otherwise in the service. */
type Asked = {
  readonly hostname: string;
  readonly target?: string;
  readonly url?: string;
  /** Also query the addresses of the name, and the CAs. */
  readonly reach?: boolean;
};

/** Prints a report or the API's JSON. Right is `done`, wrong `negative`, unknown `undecided`. */
export async function runDoctor(
  { json = false, ...asked }: Asked & { readonly json?: boolean },
  io: Io,
): Promise<CliExit> {
  const checked = await withProgress({ line: `Checking ${asked.hostname} …` }, io, () =>
    check(asked, io),
  );
  return checked.ok ? show(checked, json, io) : checked.refusal;
}

type Seen = Extract<LocalCheck, { readonly ok: true }>;

function show({ json: text, accountUnknown }: Seen, json: boolean, io: Io): CliExit {
  const { out, env, screen } = io;
  const report = readReport(text);
  if (report === null) {
    const problem = 'the service sent a response that this version does not understand';
    return { kind: 'undecided', problem };
  }
  const paint = createPaint(wantsColor(env, screen.out));
  out(
    json ? `${text}\n` : renderReport(report, { columns: screen.columns, paint, accountUnknown }),
  );
  return outcomes[report.verdict];
}

const outcomes: { readonly [V in Verdict]: CliExit } = {
  right: exitDone,
  wrong: { kind: 'negative' },
  unknown: { kind: 'undecided' },
};

/** Without a target, only the service knows what the record must point to. */
async function check({ hostname, target, url, reach = false }: Asked, io: Io): Promise<LocalCheck> {
  if (target !== undefined && url === undefined) {
    return checkFromHere({ hostname, target, reach }, io.env);
  }
  if (keyIn(io.env) === '') {
    return { ok: false, refusal: wrongUsage(url === undefined ? bothWays : urlNeedsKey) };
  }
  const connection = connect(url, io.env);
  if (!connection.ok) return connection;
  const query = new URLSearchParams({ ...(target && { target }), ...(reach && { reach: 'true' }) });
  const path = `/v1/diagnosis/${encodeURIComponent(hostname)}${query.size > 0 ? `?${query}` : ''}`;
  const answer = await connection.call('GET', path);
  if (answer.ok) return { ok: true, json: answer.text, accountUnknown: false };
  return { ok: false, refusal: inOurWords(answer, { hostname, ...(target && { target }) }) };
}

const bothWays =
  'to check from this machine, pass --target <host>; to check through the service, set SIGNPOST_API_KEY (or API_KEY)';
const urlNeedsKey =
  '--url checks through the service, which requires SIGNPOST_API_KEY (or API_KEY); to check from this machine, use --target <host> without --url';

/** Replaces the API's parameter names by the options of the command. */
function inOurWords(
  { refusal, code, message = '' }: Extract<ServiceAnswer, { readonly ok: false }>,
  { hostname, target }: Asked,
): CliExit {
  if (code === 'invalid_hostname') return exitFailed(`${message} ${validHostname} (${code})`);
  if (code !== 'invalid_query') return refusal;
  return exitFailed(
    // Without a target, only the missing target can be refused.
    target === undefined
      ? `--target <host> is required: no project has ${printable(hostname, 80)} attached`
      : `${message.replace(/^target\b/, '--target')} (${code})`,
  );
}

/** `accountUnknown`: a CAA record names an account that this machine could not verify. */
type LocalCheck =
  | { readonly ok: true; readonly json: string; readonly accountUnknown: boolean }
  | { readonly ok: false; readonly refusal: CliExit };

/** Others are ignored, even invalid ones. */
const relevant =
  /^(?:DNS_|PLATFORM_|ACME_(?:FALLBACK_)?(?:ISSUER_DOMAINS|DIRECTORY_URL|CA_FILE)$|ACME_(?:CHALLENGE|HTTP_PORT|TLS_PORT)$)/;

/** This machine does not know our CA account: a CAA record that names one passes with a warning. */
async function checkFromHere(
  typed: { readonly hostname: string; readonly target: string; readonly reach: boolean },
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
  // Open sockets would keep the process alive.
  try {
    const observer = observerFromHere(loaded.config, wire);
    const authorities = async () =>
      [acme.issuerDomains, ...(acme.fallback ? [acme.fallback.issuerDomains] : [])].map(
        (issuerDomains) => ({ issuerDomains, accountUri: null, method: acme.challenge }),
      );
    const parts = { observer, authorities, allowPrivate: dns.allowPrivate };
    const hostname = parsed.hostname.ascii;
    const reaching =
      typed.reach && reachFromHere({ acme, dns }, observer.lookupAddresses, hostname);
    const examined = await examine(parts, { hostname, target: named.target });
    const reach = await reaching;
    const accountUnknown = examined.diagnosis.findings.some(isAccountUnknown);
    const report = { ...reportOf(examined), ...(reach && { reach }) };
    return { ok: true, json: renderJson(report), accountUnknown };
  } catch (fault) {
    if (fault instanceof Error && 'path' in fault) return refused(`ACME_CA_FILE: ${fault.message}`);
    throw fault;
  } finally {
    wire.close();
  }
}

/** As in the service, except that our edge cannot be recognized from here. */
function observerFromHere({ dns, platform, acme }: Config, wire: Wire): Observer {
  const own = createObserver({ wire, config: dns, platformAddresses: platform.addresses });
  return acme.challenge === 'http-01' ? observingProxies(own, null) : own;
}

function isAccountUnknown(finding: Finding): boolean {
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
