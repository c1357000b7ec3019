/** A diagnosis as a page for a person: what is the matter first, then what everybody shows. */
import { toUnicodeName } from '../../core/idna.ts';
import { findingSections } from './finding-lines.ts';
import { type Page, plain, table, wrapped } from './layout.ts';
import type { Paint } from './paint.ts';
import { isAtServers, serverLines, worldLines } from './servers.ts';
import type { Report } from './shown.ts';
import { counted, marks } from './words.ts';
import { caaLines, delegationLines } from './zone-lines.ts';

const COLUMNS_MIN = 60;
const COLUMNS_MAX = 100;

/** `accountUntold`: see finding-lines.ts. */
type Screen = {
  readonly columns: number;
  readonly paint: Paint;
  readonly accountUntold?: boolean;
};

/** The whole page, lines ended. The same diagnosis gives the same page; whatever a zone holds, only our own colours steer. */
export function renderReport(
  report: Report,
  { columns, paint, accountUntold = false }: Screen,
): string {
  const page = { columns: Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, columns)), paint };
  const record = recordLines(report, page);
  const recordAbove = record.length === 0 ? null : recordAsWritten(report);
  const sections = [
    headline(report, page),
    titled('The record it needs', record, page),
    ...findingSections(report.findings, { recordAbove, accountUntold }, page),
    ...seenSections(report, page),
    titled('Delegation', delegationLines(report, page), page),
    titled('Who may issue certificates (CAA)', caaLines(report, page), page),
    [paint('dim', costLine(report))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** Who shows what. Of a domain that is not registered its registry knows no more than that. */
function seenSections(report: Report, page: Page): readonly (readonly string[])[] {
  if (isUnregistered(report)) return [];
  const { view, world } = report.observation;
  const resolvers = worldLines(report, page);
  if (view === 'authoritative') {
    return [
      titled(serversTitle(report), serverLines(report, page), page),
      titled('What resolvers tell the world', resolvers, page),
    ];
  }
  // Servers and world are the same here.
  return [titled('Resolvers', world.length > 0 ? resolvers : serverLines(report, page), page)];
}

function isUnregistered({ observation: { delegation } }: Report): boolean {
  return delegation?.kind === 'unregistered';
}

const headlines: { readonly [V in Report['verdict']]: string } = {
  right: 'is set up right',
  wrong: 'is not set up right',
  unknown: 'could not be checked',
};

/** Points here, and yet nothing goes on: a question about CAA without an answer is a refusal to the authority. */
function headlineOf(report: Report): string {
  const { verdict, findings } = report;
  const isCaaAlone =
    verdict === 'unknown' &&
    isAtServers(report) &&
    findings.some(({ code }) => code === 'caa_unknown');
  return isCaaAlone
    ? 'points here, but it could not be told who may issue its certificate'
    : headlines[verdict];
}

function headline(report: Report, { columns, paint }: Page): readonly string[] {
  const { verdict, hostname, unicodeHostname, target, observation, record } = report;
  const { sign, style } = marks[verdict];
  const spelt = unicodeHostname === hostname ? '' : ` (${plain(unicodeHostname)})`;
  const [first = '', ...rest] = wrapped(
    `${plain(hostname)}${spelt} ${headlineOf(report)}`,
    columns - 2,
  );
  const about =
    verdict === 'right'
      ? [`It leads to ${plain(target)}${record.type === 'ALIAS' ? ', by its addresses' : ''}.`]
      : [];
  return [
    paint(style, `${sign} ${paint('bold', first)}`),
    ...rest.map((line) => `  ${paint(style, paint('bold', line))}`),
    ...[...about, ...whyRecursive(observation)]
      .flatMap((text) => wrapped(text, columns - 2))
      .map((line) => `  ${line}`),
  ];
}

function whyRecursive({ view, whyRecursive: why }: Report['observation']): readonly string[] {
  if (view === 'authoritative') return [];
  const said =
    why === 'port_53_blocked'
      ? 'gave no answer, perhaps because port 53 does not get through from here'
      : 'were not asked, because DNS_AUTHORITATIVE is false';
  return [
    `Seen through resolvers, which may remember what was there before: the zone's own name servers ${said}.`,
  ];
}

function serversTitle({ observation: { delegation } }: Report): string {
  return delegation === null ? 'Name servers' : `Name servers of ${plain(delegation.zone)}`;
}

/**
 * Never cut: this is what people copy. Nothing where the record is there, whatever else is wrong, nor where there is no
 * zone that it could go into.
 */
function recordLines(report: Report, page: Page): readonly string[] {
  if (isAtServers(report) || isUnregistered(report)) return [];
  const { record, provider } = report;
  const { type, name, value, ttl } = record;
  const isApex = type === 'ALIAS';
  const row = [isApex ? typeAt(provider) : type, spelt(name), plain(value), String(ttl)];
  const rows = [['Type', 'Name', 'Value', 'TTL'], row].map((cells) =>
    cells.map((text) => ({ text })),
  );
  const other = isApex ? [otherNames(provider)] : [];
  const where = provider === null ? [] : [plain(provider.where)];
  return [
    ...table(rows, 2, page.paint),
    ...[...other, ...where].flatMap((text) =>
      wrapped(text, page.columns - 2).map((line) => `  ${line}`),
    ),
  ];
}

/** `xn--bcher-kva (bücher)`: forms of providers want the one or the other. */
function spelt(name: string): string {
  const unicode = toUnicodeName(name);
  return unicode === name ? plain(name) : `${plain(name)} (${plain(unicode)})`;
}

/** As findings write it (core/diagnosis/words.ts), less what they add for an apex. */
function recordAsWritten({ record: { type, name, value, ttl } }: Report): string {
  return `${type} ${name} → ${value}, TTL ${ttl}`;
}

const FLATTENING = 'CNAME flattening';

/** The type as the provider's own form offers it for an apex. */
function typeAt(provider: Report['provider']): string {
  const apex = provider?.apex ?? 'ALIAS';
  return apex === FLATTENING ? 'CNAME' : plain(apex);
}

function otherNames(provider: Report['provider']): string {
  const general = 'ALIAS is also called ANAME or CNAME flattening';
  if (provider === null) return `${general}.`;
  const name = plain(provider.name);
  if (provider.apex === null) return `${general}; we know of none at ${name}.`;
  return provider.apex === FLATTENING
    ? `${name} makes addresses of a CNAME at an apex by itself (CNAME flattening).`
    : `${name} calls it ${plain(provider.apex)}.`;
}

function costLine({ observation: { cost, at } }: Report): string {
  const { questions, bytes, ms } = cost;
  const seen = plain(at).replace(/\.\d+(?=Z$)/, '');
  return `${counted(questions, 'question')}, ${Math.round(ms)} ms, ${bytes} bytes · ${seen}`;
}

/** Nothing at all where there is nothing to say. */
function titled(title: string, lines: readonly string[], page: Page): readonly string[] {
  return lines.length === 0 ? [] : [page.paint('bold', title), ...lines];
}
