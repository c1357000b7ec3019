import { presentationOf } from '../../core/diagnosis/caa/caa-value.ts';
import { describeExtendedError } from '../../core/diagnosis/extended-errors.ts';
import type { ServerState } from '../../core/diagnosis/observation.ts';
import { pointingOf } from '../../core/diagnosis/server-pointing.ts';
import {
  answerWords,
  durationInWords,
  recordLine,
  shownInWords,
  verdicts,
} from '../../core/diagnosis/shows.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { changeLines, changesTitle } from '../changes.ts';
import {
  type Cell,
  columnsFor,
  cut,
  labeled,
  lengthOf,
  type Paint,
  plain,
  sectioned,
  type TextLayout,
  textTable,
  titled,
  toSeconds,
  wrapped,
} from '../layout.ts';
import { findingSections, marks, recordAsWritten } from '../lines.ts';
import {
  type AnswerShown,
  answerIn,
  type Report,
  type ReportObservation,
  type ResolverRow,
  reportedRecord,
  type ServerRow,
} from '../shown.ts';
import { reachSections } from './reach.ts';

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

// Groups the servers by answer, so that differences stand out.

/** The fields that decide where a server points. */
type Views = Pick<ServerRow, 'state' | 'cname' | 'a' | 'aaaa'>;

/** At least one server has the record and none has another. Silent servers do not count. */
function isAtServers(report: Report): boolean {
  const shown = report.observation.servers.map((view) => verdictOf(view, report));
  return shown.includes('right') && !shown.includes('wrong');
}

/** In order of first appearance. Other records at the name come last. */
function serverLines(report: Report, page: TextLayout): readonly string[] {
  const { servers } = report.observation;
  const { heading, rows } = serverRows(servers, page);
  const shown = servers.map((view, index) => ({
    verdict: verdictOf(view, report),
    shows: showing(view),
    lines: rows[index] ?? [],
  }));
  const kinds = [...new Set(shown.map(({ shows }) => shows))];
  return [
    ...heading,
    ...kinds.flatMap((kind) => {
      const same = shown.filter(({ shows }) => shows === kind);
      return [
        ...said(same[0]?.verdict ?? 'unknown', kind, page),
        ...same.flatMap(({ lines }) => lines),
      ];
    }),
    ...servers.flatMap((view) => besideLines(view, page)),
  ];
}

/** Answer, DNSSEC validation, time, remaining TTL and error of each resolver. */
function worldLines(report: Report, page: TextLayout): readonly string[] {
  return resolversIn(report).flatMap((view) => {
    const { server, authenticated, rttMs, errors, answersUnchecked } = view;
    const facts = [
      plain(server),
      authenticated ? 'AD: DNSSEC validated' : 'no AD',
      ...(rttMs === null ? [] : [`${rttMs} ms`]),
    ];
    const state = { ...view, state: 'answers' } as const;
    return [
      ...said(verdictOf(state, report), showing(state), page),
      `    ${facts.join(' · ')}`,
      ...[
        ...remembered(view),
        ...unchecked(answersUnchecked),
        ...errors.map(describeExtendedError),
      ].flatMap((text) => wrapped(text, page.columns - 6).map((line) => `      ${line}`)),
    ];
  });
}

/** Without authoritative queries, a resolver can know an alias that it could not follow. */
function resolversIn({ observation: { view, servers, world } }: Report): readonly ResolverRow[] {
  if (view === 'authoritative') return world;
  return world.map((resolver) => {
    const spoken = servers.find(({ server }) => server === resolver.server);
    if (spoken === undefined) return resolver;
    const { cname, a, aaaa } = spoken;
    return { ...resolver, cname, a, aaaa };
  });
}

function remembered({ negativeTtlSeconds }: ResolverRow): readonly string[] {
  return negativeTtlSeconds === null
    ? []
    : [`caches “no such record” for ${durationInWords(negativeTtlSeconds)} more`];
}

function unchecked(answers: boolean | null): readonly string[] {
  if (answers === null) return [];
  return [answers ? 'answers without DNSSEC validation' : 'fails without DNSSEC validation too'];
}

/** Wrapped and indented. */
function said(verdict: Verdict, shows: string, { columns, paint }: TextLayout): readonly string[] {
  const { sign, style } = marks[verdict];
  return wrapped(shows, columns - 4).map((line, index) =>
    index === 0 ? `  ${paint(style, sign)} ${line}` : `    ${line}`,
  );
}

const headings = ['Server', 'Address', 'State', 'AA', 'RCODE', 'Serial', 'ms'];

/** One or two lines per server, because names and addresses are never cut. */
function serverRows(servers: readonly ServerRow[], { columns, paint }: TextLayout) {
  const cells = servers.map(cellsOf);
  const rows = [headings.map((text, at) => ({ text, right: at > 4 })), ...cells];
  const plainRows = textTable(rows, 4, (_style, text) => text);
  if (Math.max(...plainRows.map(lengthOf)) <= columns) {
    const [heading = '', ...lines] = textTable(rows, 4, paint);
    return { heading: [heading], rows: lines.map((line) => [line]) };
  }
  return {
    heading: [],
    rows: servers.map(({ server, address, soa, rttMs }, index) => {
      // Serial and time are labeled here, because this form has no heading.
      const [, , state, aa, rcode] = cells[index] ?? [];
      const facts = [
        ...[state, aa, rcode].map((cell) => cell?.text ?? '-').filter((text) => text !== '-'),
        ...(soa === null ? [] : [`serial ${soa.serial}`]),
        ...(rttMs === null ? [] : [`${Math.round(rttMs)} ms`]),
      ];
      const name = [server, ...(address === null || address === server ? [] : [address])];
      return [
        ...wrapped(name.map(plain).join('  '), columns - 4).map((line) => `    ${line}`),
        paint('dim', `      ${facts.join(' · ')}`),
      ];
    }),
  };
}

function cellsOf({ server, address, state, aa, rcode, soa, rttMs }: ServerRow): readonly Cell[] {
  return [
    { text: plain(server) },
    { text: address === server ? '' : plain(address ?? '-') },
    { text: stateWords[state], ...(state === 'answers' ? {} : { style: 'yellow' }) },
    { text: aa === null ? '-' : aa ? 'AA' : 'no AA' },
    { text: rcodeWord(rcode) },
    { text: soa === null ? '-' : String(soa.serial), right: true },
    { text: rttMs === null ? '-' : String(Math.round(rttMs)), right: true },
  ];
}

function verdictOf({ state, cname, a, aaaa }: Views, report: Report): Verdict {
  const view = { state, cname: answerIn(cname), a: answerIn(a), aaaa: answerIn(aaaa) };
  return verdicts[
    pointingOf(view, reportedRecord(report), report.observation.targetAddresses).kind
  ];
}

/** All records that point somewhere, in one line, or why none was found. */
function showing({ state, cname, a, aaaa }: Views): string {
  return shownInWords({ state, cname: answerIn(cname), a: answerIn(a), aaaa: answerIn(aaaa) });
}

function besideLines({ mx, txt }: ServerRow, { columns }: TextLayout): readonly string[] {
  const beside = [...besideLine('MX', mx, plain), ...besideLine('TXT', txt, shortText)];
  return beside.flatMap((text) =>
    wrapped(`also there: ${text}`, columns - 4).map((line) => `    ${line}`),
  );
}

function besideLine(type: string, answer: AnswerShown | null, inWords: (value: string) => string) {
  return answer === null ? [] : recordLine(type, answerIn(answer), inWords);
}

/** Names are never cut. */
const TEXT_MAX = 120;

function shortText(value: string): string {
  return cut(plain(value), TEXT_MAX);
}

const stateWords: { readonly [S in ServerState]: string } = {
  answers: 'answers',
  refused: 'refuses',
  not_authoritative: 'not authoritative',
  servfail: 'fails',
  malformed: 'garbled',
  timeout: 'silent',
  no_address: 'no address',
  alias_name: 'alias',
  lookup_failed: 'lookup fails',
  reserved_address: 'unreachable',
  not_asked: 'not queried',
};

/** By number (RFC 1035, 4.1.1; RFC 2136, 2.2). */
const rcodes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

function rcodeWord(rcode: number | null): string {
  return rcode === null ? '-' : (rcodes[rcode] ?? `RCODE ${rcode}`);
}
