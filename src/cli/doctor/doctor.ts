/** `signpost doctor`: one check of the DNS of a host name, from this machine or by the running service. */

import type { ConfigProblem } from '../../config/combinations.ts';
import { loadConfig } from '../../config/config.ts';
import type { Finding } from '../../core/diagnosis/findings.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { printable } from '../../core/names/printable.ts';
import { createExamine, parseExamined, parseTarget, reportOf } from '../../dns/examine.ts';
import { createObserver } from '../../dns/observe/observe.ts';
import { createWire } from '../../dns/wire/wire.ts';
import { renderJson } from '../../net/json.ts';
import { type Answer, connect, keyIn } from '../client.ts';
import { done, failed, type Io, type Outcome, wrongUsage } from '../command.ts';
import { createPaint, wantsColour } from '../layout.ts';
import { validHostname } from '../lines.ts';
import { withProgress } from '../progress.ts';
import { readReport } from '../shown.ts';
import { reachFromHere } from './reach.ts';
import { renderReport } from './render.ts';

/**
 * What is to be checked. With `target` and without `url` the check runs on this machine, otherwise the service does
 * it.
 */
type Asked = {
  readonly hostname: string;
  readonly target?: string;
  readonly url?: string;
  /** Whether the addresses are asked, too. */
  readonly reach?: boolean;
};

/**
 * Checks a host name once and prints what was seen, as a page or as the API's JSON. The outcome is the verdict's:
 * `done` for right, `negative` for wrong, `undecided` for unknown. A check that cannot be made has the outcome of
 * what prevents it.
 */
export async function runDoctor(
  { json = false, ...asked }: Asked & { readonly json?: boolean },
  io: Io,
): Promise<Outcome> {
  const checked = await withProgress({ line: `Checking ${asked.hostname} …` }, io, () =>
    check(asked, io),
  );
  return checked.ok ? show(checked, json, io) : checked.refusal;
}

type Seen = Extract<LocalCheck, { readonly ok: true }>;

/** `json` here is what to print, and its text what was read: it is printed as it came. */
function show({ json: text, accountUntold }: Seen, json: boolean, io: Io): Outcome {
  const { out, env, screen } = io;
  const report = readReport(text);
  if (report === null) {
    const problem = 'the service sent an answer this version doesn’t understand';
    return { kind: 'undecided', problem };
  }
  const paint = createPaint(wantsColour(env, screen.out));
  out(json ? `${text}\n` : renderReport(report, { columns: screen.columns, paint, accountUntold }));
  return outcomes[report.verdict];
}

const outcomes: { readonly [V in Verdict]: Outcome } = {
  right: done,
  wrong: { kind: 'negative' },
  unknown: { kind: 'undecided' },
};

/** Which of the two ways is taken. Without a target only the service can tell what the record must point to. */
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
  if (answer.ok) return { ok: true, json: answer.text, accountUntold: false };
  return { ok: false, refusal: inOurWords(answer, { hostname, ...(target && { target }) }) };
}

/** Said where neither way is open. */
const bothWays =
  'to check from here, pass --target <host>; to ask the service, set SIGNPOST_API_KEY (or API_KEY)';
const urlNeedsKey =
  '--url asks the service, which needs SIGNPOST_API_KEY (or API_KEY); without --url, --target <host> checks from here';

/** The service speaks of a parameter where somebody at a shell has an option. */
function inOurWords(
  { refusal, code, message = '' }: Extract<Answer, { readonly ok: false }>,
  { hostname, target }: Asked,
): Outcome {
  if (code === 'invalid_hostname') return failed(`${message} ${validHostname} (${code})`);
  if (code !== 'invalid_query') return refusal;
  return failed(
    // Without a target there is nothing else in the query to refuse.
    target === undefined
      ? `--target <host> is needed: no project has ${printable(hostname, 80)} attached`
      : `${message.replace(/^target\b/, '--target')} (${code})`,
  );
}

/** `accountUntold`: a CAA record names an account, which could not be compared with ours from here. */
type LocalCheck =
  | { readonly ok: true; readonly json: string; readonly accountUntold: boolean }
  | { readonly ok: false; readonly refusal: Outcome };

/** What a check depends on; whatever else the environment holds is not read, be it right or wrong. */
const relevant =
  /^(?:DNS_|PLATFORM_|ACME_(?:FALLBACK_)?(?:ISSUER_DOMAINS|DIRECTORY_URL)$|ACME_(?:STATUS_URL|CHALLENGE|HTTP_PORT|TLS_PORT)$)/;

/**
 * The diagnosis as the API would answer it. Our account at the authority is not known here, so a CAA record that names
 * an account passes with a warning.
 */
async function checkFromHere(
  typed: { readonly hostname: string; readonly target: string; readonly reach: boolean },
  env: Io['env'],
): Promise<LocalCheck> {
  const loaded = loadConfig(relevantOf(env));
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
  // The wire's sockets would keep the process alive.
  try {
    const observer = createObserver({ wire, config: dns, platformAddresses: platform.addresses });
    const examine = createExamine({
      observer,
      authorities: async () =>
        [acme.issuerDomains, ...(acme.fallback ? [acme.fallback.issuerDomains] : [])].map(
          (issuerDomains) => ({ issuerDomains, accountUri: null, method: acme.challenge }),
        ),
      allowPrivate: dns.allowPrivate,
    });
    const hostname = parsed.hostname.ascii;
    const [examined, reach] = await Promise.all([
      examine({ hostname, target: named.target }),
      typed.reach ? reachFromHere({ acme, dns, observer }, hostname) : undefined,
    ]);
    const accountUntold = examined.diagnosis.findings.some(isAccountUntold);
    const report = { ...reportOf(examined), ...(reach && { reach }) };
    return { ok: true, json: renderJson(report), accountUntold };
  } finally {
    wire.close();
  }
}

function isAccountUntold(finding: Finding): boolean {
  return finding.code === 'caa_warns' && finding.reasons.includes('account_untold');
}

/** Roots to trust belong to a directory: without one they would be refused. */
function relevantOf(env: Io['env']): Io['env'] {
  const isRelevant = (name: string) =>
    relevant.test(name) ||
    (name.endsWith('_CA_FILE') && env[name.replace('CA_FILE', 'DIRECTORY_URL')] !== undefined);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isRelevant(name)));
}

function inWords({ variable, problem }: ConfigProblem): string {
  return `${variable} ${problem}`;
}

function refused(problem: string): LocalCheck {
  return { ok: false, refusal: wrongUsage(problem) };
}
