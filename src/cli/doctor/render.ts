/** A diagnosis as a page for a person: what is the matter first, then what everybody shows. */
import { presentationOf } from '../../core/diagnosis/caa/caa-value.ts';
import { answerWords, durationInWords } from '../../core/diagnosis/shows.ts';
import { counted } from '../../core/diagnosis/words.ts';
import {
  columnsFor,
  labelled,
  lengthOf,
  type Page,
  type Paint,
  plain,
  sectioned,
  titled,
  wrapped,
} from '../layout.ts';
import { findingSections, marks, recordAsWritten, recordLinesOf } from '../lines.ts';
import type { Report, Seen } from '../shown.ts';
import { addressLines, authorityLines } from './reach.ts';
import { isAtServers, serverLines, worldLines } from './servers.ts';

/** `columns`: of the terminal. `accountUntold`: see finding-lines.ts; false where nothing is said. */
type Screen = {
  readonly columns: number;
  readonly paint: Paint;
  readonly accountUntold?: boolean;
};

/**
 * The whole page, every line ended. The same diagnosis gives the same page. Whatever a zone holds is made fit to be
 * printed: only `paint` writes escape sequences.
 */
export function renderReport(
  report: Report,
  { columns, paint, accountUntold = false }: Screen,
): string {
  const page = { columns: columnsFor(columns), paint };
  const record = recordLines(report, page);
  const recordAbove = record.length === 0 ? null : recordAsWritten(report.record);
  const sections = [
    headline(report, page),
    titled('The record it needs', record, page),
    ...findingSections(report.findings, { recordAbove, accountUntold }, page),
    report.findings.length === 0 ? [] : wrapped(onceOnly, page.columns),
    ...seenSections(report, page),
    titled('Delegation', delegationLines(report, page), page),
    titled('Who may issue certificates (CAA)', caaLines(report, page), page),
    titled('What the addresses answer', addressLines(report, page), page),
    titled('Certificate authority', authorityLines(report, page), page),
    [paint('dim', costLine(report))],
  ];
  return sectioned(sections);
}

/** Who shows what. Of a domain that is not registered its registry knows no more than that. */
function seenSections(report: Report, page: Page): readonly (readonly string[])[] {
  if (isUnregistered(report)) return [];
  const { view, world } = report.observation;
  const resolvers = worldLines(report, page);
  if (view === 'authoritative') {
    return [
      titled(serversTitle(report), serverLines(report, page), page),
      titled('What public resolvers see', resolvers, page),
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

/**
 * Where everything points here and only the question about CAA has no answer, the verdict is unknown: an authority
 * takes a missing answer for a refusal. The headline says which half is missing.
 */
function headlineOf(report: Report): string {
  const { verdict, findings } = report;
  const isCaaAlone =
    verdict === 'unknown' &&
    isAtServers(report) &&
    findings.some(({ code }) => code === 'caa_unknown');
  return isCaaAlone
    ? 'points here, but we couldn’t check who may issue its certificate'
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

/** Only where the zone's own servers were not seen, since then nothing on the page is certain to be current. */
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
  return recordLinesOf(report, page);
}

/** What the check took: messages sent, time, bytes received, and when it was. */
function costLine({ observation: { cost, at } }: Report): string {
  const { questions, bytes, ms } = cost;
  const seen = plain(at).replace(/\.\d+(?=Z$)/, '');
  return `${counted(questions, 'question')}, ${Math.round(ms)} ms, ${bytes} bytes · ${seen}`;
}

const onceOnly =
  'This was one check; run it again after a change. Attached domains are checked automatically.';

/** The zone above, the zone's servers as each of both lists them, and who runs them. */
function delegationLines(
  { observation: { delegation }, provider }: Report,
  page: Page,
): readonly string[] {
  const line = (label: string, text: string) =>
    labelled(label, text, { indent: 2, labelWidth: 10 }, page);
  const run = provider === null ? [] : line('run by', plain(provider.name));
  if (delegation === null) return run;
  const { kind, zone, parent, atParent = [], atZone = null, ttlSeconds = 0 } = delegation;
  if (kind === 'unregistered') {
    return line('zone', `${plain(zone)} is not registered, says the registry of ${plain(parent)}`);
  }
  if (kind === 'undelegated') {
    return line(
      'zone',
      `${plain(zone)} has no name servers, says the registry of ${plain(parent)}`,
    );
  }
  const above = `${plain(zone)}, delegated by ${named(parent)} for ${durationInWords(ttlSeconds)}`;
  const same = atZone !== null && atZone.join(' ') === atParent.join(' ');
  return [
    ...line('zone', above),
    ...run,
    ...(same
      ? line('servers', listed(atParent))
      : [...line('above', listed(atParent)), ...line('itself', listed(atZone))]),
  ];
}

/** The climb, nearest level first. */
function caaLines({ observation: { caa } }: Report, page: Page): readonly string[] {
  if (caa === null) return [];
  const labelWidth = Math.min(34, 2 + Math.max(0, ...caa.map(({ name }) => lengthOf(plain(name)))));
  return caa.flatMap(({ name, answer, servers = [] }) => {
    const texts =
      servers.length === 0
        ? recordsIn(answer)
        : servers.flatMap((one) =>
            recordsIn(one.answer).map((text) => `${plain(one.server)}: ${text}`),
          );
    return texts.flatMap((text, index) =>
      labelled(index === 0 ? plain(name) : '', text, { indent: 2, labelWidth }, page),
    );
  });
}

function recordsIn(answer: NonNullable<Seen['caa']>[number]['answer']): readonly string[] {
  const { kind, records = [] } = answer;
  if (kind === 'records') return records.map((record) => plain(presentationOf(record)));
  return [kind === 'nodata' || kind === 'nxdomain' ? 'no records' : answerWords[kind]];
}

function listed(names: readonly string[] | null): string {
  return names === null ? 'none of them answered' : names.map(plain).join(', ');
}

function named(parent: string): string {
  return parent === '' || parent === '.' ? 'the root' : plain(parent);
}
