import { presentationOf } from '../../core/diagnosis/caa/caa-value.ts';
import { answerWords, durationInWords } from '../../core/diagnosis/shows.ts';
import { changeLines, changesTitle } from '../changes.ts';
import {
  columnsFor,
  labeled,
  lengthOf,
  type Paint,
  plain,
  sectioned,
  type TextLayout,
  titled,
  toSeconds,
  wrapped,
} from '../layout.ts';
import { findingSections, marks, recordAsWritten } from '../lines.ts';
import type { Report, ReportObservation } from '../shown.ts';
import { reachSections } from './reach.ts';
import { isAtServers, serverLines, worldLines } from './servers.ts';

/** `columns`: width of the terminal. `accountUnknown`: see lines.ts. */
type Screen = {
  readonly columns: number;
  readonly paint: Paint;
  readonly accountUnknown?: boolean;
};

/** Deterministic. Zone data is made printable: only `paint` writes escape sequences. */
export function renderReport(
  report: Report,
  { columns, paint, accountUnknown = false }: Screen,
): string {
  const page = { columns: columnsFor(columns), paint };
  const changes = changesIn(report);
  const recordAbove = hasChanges(report) ? recordAsWritten(report.record) : null;
  const sections = [
    headline(report, page),
    hasChanges(report) ? titled(changesTitle(changes), changeLines(changes, page), page) : [],
    ...findingSections(report.findings, { recordAbove, accountUnknown }, page),
    report.findings.length === 0 ? [] : wrapped(onceOnly, page.columns),
    ...reachSections(report, page),
    ...seenSections(report, page),
    titled('Delegation', delegationLines(report, page), page),
    titled('Who may issue certificates (CAA)', caaLines(report, page), page),
    [paint('dim', costLine(report))],
  ];
  return sectioned(sections);
}

/** For an unregistered domain, the registry's answer is all there is. */
function seenSections(report: Report, page: TextLayout): readonly (readonly string[])[] {
  if (isUnregistered(report)) return [];
  const { view, world } = report.observation;
  const resolvers = worldLines(report, page);
  if (view === 'authoritative') {
    return [
      titled(serversTitle(report), serverLines(report, page), page),
      titled('What public resolvers see', resolvers, page),
    ];
  }
  // Servers and resolvers are the same here.
  return [titled('Resolvers', world.length > 0 ? resolvers : serverLines(report, page), page)];
}

function isUnregistered({ observation: { delegation } }: Report): boolean {
  return delegation?.kind === 'unregistered';
}

const headlines: { readonly [V in Report['verdict']]: string } = {
  right: 'is set up correctly',
  wrong: 'is not set up correctly',
  unknown: 'could not be checked',
};

/** If only the CAA query has no answer, the verdict is unknown: CAs treat that as a refusal. */
function headlineOf(report: Report): string {
  const { verdict, findings } = report;
  const isCaaAlone =
    verdict === 'unknown' &&
    isAtServers(report) &&
    findings.some(({ code }) => code === 'caa_unknown');
  return isCaaAlone ? 'points here, but its CAA records couldn’t be checked' : headlines[verdict];
}

function headline(report: Report, { columns, paint }: TextLayout): readonly string[] {
  const { verdict, hostname, unicodeHostname, target, observation, record } = report;
  const { sign, style } = marks[verdict];
  const spelt = unicodeHostname === hostname ? '' : ` (${plain(unicodeHostname)})`;
  const [first = '', ...rest] = wrapped(
    `${plain(hostname)}${spelt} ${headlineOf(report)}`,
    columns - 2,
  );
  const about =
    verdict === 'right'
      ? [`It points to ${plain(target)}${record.type === 'ALIAS' ? ' by its addresses' : ''}.`]
      : [];
  return [
    paint(style, `${sign} ${paint('bold', first)}`),
    ...rest.map((line) => `  ${paint(style, paint('bold', line))}`),
    ...[...about, ...whyRecursive(observation)]
      .flatMap((text) => wrapped(text, columns - 2))
      .map((line) => `  ${line}`),
  ];
}

/** Resolvers can return outdated answers. */
function whyRecursive({ view, whyRecursive: why }: Report['observation']): readonly string[] {
  if (view === 'authoritative') return [];
  const said =
    why === 'port_53_blocked'
      ? 'did not answer, probably because outgoing port 53 is blocked here'
      : 'were not queried, because DNS_AUTHORITATIVE is false';
  return [
    `These answers come from resolvers and can be outdated: the zone's own name servers ${said}.`,
  ];
}

function serversTitle({ observation: { delegation } }: Report): string {
  return delegation === null ? 'Name servers' : `Name servers of ${plain(delegation.zone)}`;
}

/** Not if everything is in place, or if no zone exists for a record. */
function hasChanges(report: Report): boolean {
  return !isUnregistered(report) && report.changes.some(({ verb }) => verb !== 'keep');
}

function changesIn({ changes, provider, observation: { view } }: Report) {
  return { changes, provider, view };
}

function costLine({ observation: { cost, at } }: Report): string {
  const { questions, bytes, ms } = cost;
  const seen = toSeconds(plain(at));
  return `${questions} ${questions === 1 ? 'query' : 'queries'}, ${Math.round(ms)} ms, ${bytes} bytes · ${seen}`;
}

const onceOnly =
  'This was one check; run it again after a change. Attached domains are checked automatically.';

/** The delegation as the parent zone and the zone itself list it, and the DNS provider. */
function delegationLines(
  { observation: { delegation }, provider }: Report,
  page: TextLayout,
): readonly string[] {
  const line = (label: string, text: string) =>
    labeled(label, text, { indent: 2, labelWidth: 10 }, page);
  const run = provider === null ? [] : line('run by', plain(provider.name));
  if (delegation === null) return run;
  const { kind, zone, parent, atParent = [], atZone = null, ttlSeconds = 0 } = delegation;
  if (kind === 'unregistered') {
    return line(
      'zone',
      `${plain(zone)} is not registered, according to the registry of ${plain(parent)}`,
    );
  }
  if (kind === 'undelegated') {
    return line('zone', `${plain(zone)} has no name servers at the registry of ${plain(parent)}`);
  }
  const above = `${plain(zone)}, delegated by ${named(parent)} (TTL ${durationInWords(ttlSeconds)})`;
  const same = atZone !== null && atZone.join(' ') === atParent.join(' ');
  return [
    ...line('zone', above),
    ...run,
    ...(same
      ? line('servers', listed(atParent))
      : [...line('above', listed(atParent)), ...line('itself', listed(atZone))]),
  ];
}

function caaLines({ observation: { caa } }: Report, page: TextLayout): readonly string[] {
  if (caa === null) return [];
  const labelWidth = Math.min(34, 2 + Math.max(0, ...caa.map(({ name }) => lengthOf(plain(name)))));
  return caa.flatMap((level) => {
    const { name } = level;
    const texts = recordsIn(level);
    return texts.flatMap((text, index) =>
      labeled(index === 0 ? plain(name) : '', text, { indent: 2, labelWidth }, page),
    );
  });
}

function recordsIn({
  answer,
  endless,
}: NonNullable<ReportObservation['caa']>[number]): readonly string[] {
  const { kind, records = [] } = answer;
  if (endless) return ['alias loop'];
  if (answer.cutOff) return ['not read: our own limits'];
  if (kind === 'records') return records.map((record) => plain(presentationOf(record)));
  return [kind === 'nodata' || kind === 'nxdomain' ? 'no records' : answerWords[kind]];
}

function listed(names: readonly string[] | null): string {
  return names === null ? 'none of them answered' : names.map(plain).join(', ');
}

function named(parent: string): string {
  return parent === '' || parent === '.' ? 'the root' : plain(parent);
}
