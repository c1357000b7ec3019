/** A domain as a page for a person: where it stands first, then what to do. */
import { eventTitle } from '../../core/life/events.ts';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import type { Paint } from '../layout.ts';
import {
  columnsFor,
  labelled,
  type Page,
  plain,
  plainSentence,
  sectioned,
  titled,
  wrapped,
} from '../layout.ts';
import {
  actorWords,
  findingSections,
  type Mark,
  marks,
  recordAsWritten,
  recordLinesOf,
  spelt,
} from '../lines.ts';
import type { DomainShown, EventShown, ProjectShown } from '../shown.ts';

/** What the page is made of. */
type Seen = {
  readonly domain: DomainShown;
  readonly project: ProjectShown;
  /** The newest first; only the first five are shown. */
  readonly events: readonly EventShown[];
};

/**
 * The whole page, every line ended. `columns`: of the terminal. Whatever a zone or an authority says is made fit to
 * be printed: only `paint` writes escape sequences.
 */
export function renderDomain(
  { domain, project, events }: Seen,
  screen: { readonly columns: number; readonly paint: Paint },
): string {
  const page = { columns: columnsFor(screen.columns), paint: screen.paint };
  const context = { recordAbove: recordAsWritten(domain.record), accountUntold: false };
  return sectioned([
    summaryLines(domain, project, page),
    titled(recordTitle(domain), [...recordLinesOf(domain, page), ...whyTwo(domain, page)], page),
    ...findingSections(domain.findings, context, page),
    titled('Certificate', certificateLines(domain, page), page),
    titled('Last events', eventLines(events, page), page),
  ]);
}

function recordTitle({ status, zone, proofRecord }: DomainShown): string {
  const isThere = status === 'live' || status === 'verified';
  const where = `in the zone ${plain(zone)}`;
  if (proofRecord) return `The two DNS records to create ${where}`;
  return isThere ? `The DNS record ${where}; it has to stay` : `The DNS record to create ${where}`;
}

function whyTwo({ proofRecord }: DomainShown, { columns }: Page): readonly string[] {
  if (!proofRecord) return [];
  const why = `Both are needed. ${plainSentence(proofRecord.why)}`;
  return wrapped(why, columns - 2).map((line) => `  ${line}`);
}

/**
 * The mark of a domain's status: right for live, unknown while it is on its way, else wrong; wrong for any that
 * something blocks.
 */
export function markOf({ status, findings }: Pick<DomainShown, 'status' | 'findings'>): Mark {
  return marks[isBlocked({ findings }) ? 'wrong' : verdicts[status]];
}

/** Whether any finding has the severity `blocks`. */
export function isBlocked({ findings }: Pick<DomainShown, 'findings'>): boolean {
  return findings.some(({ severity }) => severity === 'blocks');
}

const verdicts = {
  pending: 'unknown',
  verified: 'unknown',
  live: 'right',
  drifted: 'wrong',
  failed: 'wrong',
} as const satisfies { readonly [S in DomainStatus]: keyof typeof marks };

function summaryLines(domain: DomainShown, project: ProjectShown, page: Page): readonly string[] {
  const { hostname, status, summary } = domain;
  const { columns, paint } = page;
  const { sign, style } = markOf(domain);
  const who = summary.actor === null ? [] : [`Now ${actorWords[summary.actor]}.`];
  return [
    `${paint(style, `${sign} ${paint('bold', spelt(hostname))}`)} ${paint('dim', `· ${status} · project ${plain(project.slug)}`)}`,
    ...[[plainSentence(summary.line), ...who].join(' ')]
      .flatMap((text) => wrapped(text, columns - 2))
      .map((line) => `  ${line}`),
  ];
}

const beside = { indent: 2, labelWidth: 14 };

const statuses: { readonly [S in DomainShown['certificate']['status']]: string } = {
  none: 'none yet',
  ordering: 'ordered, not there yet',
  issued: 'issued',
  failed: 'refused so far',
};

function certificateLines({ certificate, escalation }: DomainShown, page: Page): readonly string[] {
  const { status, issuer, issuedAt, expiresAt, nextAttemptAt, problem, browser } = certificate;
  const line = (label: string, text: string | null) =>
    text === null ? [] : labelled(label, plainSentence(text), beside, page);
  return [
    ...line('state', statuses[status]),
    ...line('issuer', issuer),
    ...line('issued', timeOf(issuedAt)),
    ...line('valid until', timeOf(expiresAt)),
    ...line('refused', problem && `${problem.detail} (${problem.type})`),
    ...line('next attempt', timeOf(nextAttemptAt)),
    ...line('in a browser', browser.summary),
    ...(escalation === null
      ? []
      : [
          ...line('operator', `called at ${timeOf(escalation.openedAt)}: ${escalation.summary}`),
          ...line('', escalation.nextAction),
        ]),
  ];
}

/** Our choice: what happened lately. */
const EVENTS_SHOWN = 5;

function eventLines(events: readonly EventShown[], page: Page): readonly string[] {
  return events.slice(0, EVENTS_SHOWN).flatMap((event) => {
    const labelWidth = 22; // a time, and two spaces
    const at = timeOf(plain(event.at)) ?? '';
    return labelled(at, plainSentence(eventInWords(event)), { indent: 2, labelWidth }, page);
  });
}

/** Findings that appeared or went, by their codes; for any other event its title and the one field that explains it. */
function eventInWords({ type, data }: EventShown): string {
  const [appeared, cleared] = [codesIn(data['appeared']), codesIn(data['cleared'])];
  const changes = [
    ...(appeared === '' ? [] : [`Found: ${appeared}`]),
    ...(cleared === '' ? [] : [`Gone: ${cleared}`]),
  ];
  if (changes.length > 0) return changes.join('; ');
  const details = ['issuer', 'detail', 'summary'].map((field) => data[field]);
  const text = details.find((value) => typeof value === 'string');
  return text === undefined ? eventTitle(type) : `${eventTitle(type)}: ${text}`;
}

/** The codes with commas between them; empty for what is no list of findings. */
function codesIn(findings: unknown): string {
  if (!Array.isArray(findings)) return '';
  return findings.flatMap((one) => (typeof one?.code === 'string' ? [one.code] : [])).join(', ');
}

/** The time without fractions of a second, `2026-11-20T12:00:00Z`; null stays null. `time`: RFC 3339, in UTC. */
export function timeOf(time: string | null): string | null {
  return time?.replace(/\.\d+(?=Z$)/, '') ?? null;
}
