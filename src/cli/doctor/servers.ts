/** What every server shows, gathered by what it shows: who disagrees stands apart. */
import { describeExtendedError } from '../../core/diagnosis/extended-errors.ts';
import type { ServerState } from '../../core/diagnosis/observation.ts';
import { pointingOf } from '../../core/diagnosis/server-pointing.ts';
import { durationInWords, recordLine, shownInWords, verdicts } from '../../core/diagnosis/shows.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { type Cell, cut, lengthOf, type Page, plain, table, wrapped } from '../layout.ts';
import { marks } from '../lines.ts';
import {
  type AnswerShown,
  answerIn,
  type Report,
  type ResolverRow,
  recordIn,
  type ServerRow,
} from '../shown.ts';

/** What of a server's view decides where it points. */
type Views = Pick<ServerRow, 'state' | 'cname' | 'a' | 'aaaa'>;

/**
 * Whether at least one server has the record and none shows anything else. Servers that could not tell do not count.
 */
export function isAtServers(report: Report): boolean {
  const shown = report.observation.servers.map((view) => verdictOf(view, report));
  return shown.includes('right') && !shown.includes('wrong');
}

/**
 * A line or two for each server, below what it shows: servers that show the same stand together, in the order in
 * which the first of each kind was seen. What was found beside the record comes last.
 */
export function serverLines(report: Report, page: Page): readonly string[] {
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

/**
 * The same of the recursive servers, one after the other: what each answers, whether it checks signatures, how long
 * it took, what it still remembers and why it fails. Empty where none was asked.
 */
export function worldLines(report: Report, page: Page): readonly string[] {
  return resolversIn(report).flatMap((view) => {
    const { server, authenticated, rttMs, errors, answersUnchecked } = view;
    const facts = [
      plain(server),
      authenticated ? 'AD: signatures checked' : 'no AD',
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

/** Through resolvers alone, the one that spoke for the zone may know an alias that it could not follow. */
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
    : [`keeps its old “there is none” ${durationInWords(negativeTtlSeconds)} more`];
}

function unchecked(answers: boolean | null): readonly string[] {
  if (answers === null) return [];
  return [answers ? 'answers when asked not to check signatures' : 'fails without checks, too'];
}

/** What is shown, with its mark, wrapped under its own beginning. */
function said(verdict: Verdict, shows: string, { columns, paint }: Page): readonly string[] {
  const { sign, style } = marks[verdict];
  return wrapped(shows, columns - 4).map((line, index) =>
    index === 0 ? `  ${paint(style, sign)} ${line}` : `    ${line}`,
  );
}

const headings = ['Server', 'Address', 'State', 'AA', 'RCODE', 'Serial', 'ms'];

/** A line for each server; two where some line would be too long, because a name or an address is never cut. */
function serverRows(servers: readonly ServerRow[], { columns, paint }: Page) {
  const cells = servers.map(cellsOf);
  const rows = [headings.map((text, at) => ({ text, right: at > 4 })), ...cells];
  const plainRows = table(rows, 4, (_style, text) => text);
  if (Math.max(...plainRows.map(lengthOf)) <= columns) {
    const [heading = '', ...lines] = table(rows, 4, paint);
    return { heading: [heading], rows: lines.map((line) => [line]) };
  }
  return {
    heading: [],
    rows: servers.map(({ server, address, soa, rttMs }, index) => {
      // Serial and time are labeled here, since there is no heading.
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
  return verdicts[pointingOf(view, recordIn(report), report.observation.targetAddresses).kind];
}

/** All records that lead somewhere, in one line, or in words why there are none. */
function showing({ state, cname, a, aaaa }: Views): string {
  return shownInWords({ state, cname: answerIn(cname), a: answerIn(a), aaaa: answerIn(aaaa) });
}

/** Mail and texts, which one server was asked for. */
function besideLines({ mx, txt }: ServerRow, { columns }: Page): readonly string[] {
  const beside = [...besideLine('MX', mx, plain), ...besideLine('TXT', txt, shortText)];
  return beside.flatMap((text) =>
    wrapped(`also there: ${text}`, columns - 4).map((line) => `    ${line}`),
  );
}

function besideLine(type: string, answer: AnswerShown | null, inWords: (value: string) => string) {
  return answer === null ? [] : recordLine(type, answerIn(answer), inWords);
}

/** How many characters of a text record are shown, enough to recognize it. A name is never cut. */
const TEXT_MAX = 120;

function shortText(value: string): string {
  return cut(plain(value), TEXT_MAX);
}

/** How a server behaved, in the words of the column “State”. */
export const stateWords: { readonly [S in ServerState]: string } = {
  answers: 'answers',
  refused: 'refuses',
  not_authoritative: 'not its zone',
  servfail: 'fails',
  malformed: 'garbled',
  timeout: 'silent',
  no_address: 'no address',
  alias_name: 'an alias',
  reserved_address: 'unreachable',
  not_asked: 'not asked',
};

/** By RCODE (RFC 1035, 4.1.1; RFC 2136, 2.2). */
const rcodes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

function rcodeWord(rcode: number | null): string {
  return rcode === null ? '-' : (rcodes[rcode] ?? `RCODE ${rcode}`);
}
