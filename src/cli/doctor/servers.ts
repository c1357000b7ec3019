/** Groups the servers by answer, so that differences stand out. */
import { describeExtendedError } from '../../core/diagnosis/extended-errors.ts';
import type { ServerState } from '../../core/diagnosis/observation.ts';
import { pointingOf } from '../../core/diagnosis/server-pointing.ts';
import { durationInWords, recordLine, shownInWords, verdicts } from '../../core/diagnosis/shows.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { type Cell, cut, lengthOf, plain, type TextLayout, textTable, wrapped } from '../layout.ts';
import { marks } from '../lines.ts';
import {
  type AnswerShown,
  answerIn,
  type Report,
  type ResolverRow,
  reportedRecord,
  type ServerRow,
} from '../shown.ts';

/** The fields that decide where a server points. */
type Views = Pick<ServerRow, 'state' | 'cname' | 'a' | 'aaaa'>;

/** At least one server has the record and none has another. Silent servers do not count. */
export function isAtServers(report: Report): boolean {
  const shown = report.observation.servers.map((view) => verdictOf(view, report));
  return shown.includes('right') && !shown.includes('wrong');
}

/** In order of first appearance. Other records at the name come last. */
export function serverLines(report: Report, page: TextLayout): readonly string[] {
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
export function worldLines(report: Report, page: TextLayout): readonly string[] {
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
