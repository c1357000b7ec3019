/** A diagnosis as a page for a person: what is the matter first, then what everybody shows. */
import { findingLines } from './finding-lines.ts';
import { type Page, plain, table, wrapped } from './layout.ts';
import type { Paint } from './paint.ts';
import { isAtServers, serverLines, worldLines } from './servers.ts';
import type { Report } from './shown.ts';
import { counted, marks } from './words.ts';
import { caaLines, delegationLines } from './zone-lines.ts';

const COLUMNS_MIN = 60;
const COLUMNS_MAX = 100;

/** The whole page, lines ended. The same diagnosis gives the same page; whatever a zone holds, only our own colours steer. */
export function renderReport(
  report: Report,
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): string {
  const page = { columns: Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, columns)), paint };
  const sections = [
    headline(report, page),
    titled('The record it needs', recordLines(report, page), page),
    ...report.findings.map((finding) => findingLines(finding, page)),
    titled(serversTitle(report), serverLines(report, page), page),
    titled('What resolvers tell the world', worldLines(report, page), page),
    titled('Delegation', delegationLines(report, page), page),
    titled('Who may issue certificates (CAA)', caaLines(report, page), page),
    [paint('dim', costLine(report))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

const headlines: { readonly [V in Report['verdict']]: string } = {
  right: 'is set up right',
  wrong: 'is not set up right',
  unknown: 'could not be checked',
};

function headline(report: Report, { columns, paint }: Page): readonly string[] {
  const { verdict, hostname, unicodeHostname, target, observation, record } = report;
  const { sign, style } = marks[verdict];
  const spelt = unicodeHostname === hostname ? '' : ` (${plain(unicodeHostname)})`;
  const [first = '', ...rest] = wrapped(
    `${plain(hostname)}${spelt} ${headlines[verdict]}`,
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
  const because =
    why === 'port_53_blocked'
      ? 'packets to their port 53 do not get through from here'
      : 'DNS_AUTHORITATIVE is false';
  return [
    `Seen through resolvers, which may remember what was there before: the zone's own name servers were not asked, because ${because}.`,
  ];
}

function serversTitle({ observation }: Report): string {
  if (observation.view === 'recursive') return 'What the resolvers show';
  const { delegation } = observation;
  if (delegation === null) return 'Name servers';
  const { kind, zone, parent } = delegation;
  return `Name servers of ${plain(kind === 'unregistered' ? parent : zone)}`;
}

/** Never cut: this is what people copy. Nothing where the record is there, whatever else is wrong. */
function recordLines(report: Report, page: Page): readonly string[] {
  if (isAtServers(report)) return [];
  const { record, provider } = report;
  const { type, name, value, ttl } = record;
  const row = [type, plain(name), plain(value), String(ttl)];
  const rows = [['Type', 'Name', 'Value', 'TTL'], row].map((cells) =>
    cells.map((text) => ({ text })),
  );
  const other = type === 'ALIAS' ? [otherNames(provider)] : [];
  const where = provider === null ? [] : [plain(provider.where)];
  return [
    ...table(rows, 2, page.paint),
    ...[...other, ...where].flatMap((text) =>
      wrapped(text, page.columns - 2).map((line) => `  ${line}`),
    ),
  ];
}

function otherNames(provider: Report['provider']): string {
  const apex = provider?.apex ?? null;
  return apex === null || apex === 'ALIAS'
    ? 'ALIAS is also called ANAME or CNAME flattening.'
    : `${plain(provider?.name ?? '')} calls an ALIAS ${plain(apex)}.`;
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
