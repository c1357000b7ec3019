import { eventTitle } from '../../core/life/events.ts';
import type { Tone } from '../../core/life/summary/summary-types.ts';
import { changeLines, changesTitle } from '../changes.ts';
import type { Paint } from '../layout.ts';
import {
  columnsFor,
  labeled,
  plain,
  plainSentence,
  sectioned,
  type TextLayout,
  titled,
  toSeconds,
  wrapped,
} from '../layout.ts';
import { actorWords, findingSections, type Mark, marks, recordAsWritten, spelt } from '../lines.ts';
import type { DomainShown, EventShown, ProjectShown } from '../shown.ts';

type Seen = {
  readonly domain: DomainShown;
  readonly project: ProjectShown;
  /** Newest first; only the first EVENTS_SHOWN are shown. */
  readonly events: readonly EventShown[];
};

/** Text from zones and CAs is made printable: only `paint` writes escape sequences. */
export function renderDomain(
  { domain, project, events }: Seen,
  screen: { readonly columns: number; readonly paint: Paint },
): string {
  const page = { columns: columnsFor(screen.columns), paint: screen.paint };
  const changes = { ...domain, view: domain.observation?.view ?? 'authoritative' } as const;
  const context = { recordAbove: recordAsWritten(domain.record), accountUnknown: false };
  return sectioned([
    summaryLines(domain, project, page),
    titled(changesTitle(changes, true), changeLines(changes, page), page),
    ...findingSections(domain.findings, context, page),
    titled('Certificate', certificateLines(domain, page), page),
    titled('Last events', eventLines(events, page), page),
  ]);
}

/** The summary's tone. */
export function markOf({ summary }: Pick<DomainShown, 'summary'>): Mark {
  return toneMarks[summary.tone];
}

export function isBlocked({ findings }: Pick<DomainShown, 'findings'>): boolean {
  return findings.some(({ severity }) => severity === 'blocks');
}

const toneMarks: { readonly [T in Tone]: Mark } = {
  ok: marks.right,
  wait: { sign: '…', style: 'blue' },
  warn: { sign: '!', style: 'yellow' },
  bad: marks.wrong,
  idle: marks.unknown,
};

function summaryLines(
  domain: DomainShown,
  project: ProjectShown,
  page: TextLayout,
): readonly string[] {
  const { hostname, summary } = domain;
  const { columns, paint } = page;
  const { sign, style } = markOf(domain);
  const who = summary.actor === null ? [] : [`Now ${actorWords[summary.actor]}.`];
  return [
    `${paint(style, `${sign} ${paint('bold', spelt(hostname))}`)} ${paint('dim', `· ${summary.badge} · project ${plain(project.slug)}`)}`,
    ...[[plainSentence(summary.line), ...who].join(' ')]
      .flatMap((text) => wrapped(text, columns - 2))
      .map((line) => `  ${line}`),
  ];
}

const beside = { indent: 2, labelWidth: 14 };

const statuses: { readonly [S in DomainShown['certificate']['status']]: string } = {
  none: 'none yet',
  ordering: 'being issued',
  issued: 'issued',
  failed: 'failed',
};

function certificateLines(
  { certificate, escalation }: DomainShown,
  page: TextLayout,
): readonly string[] {
  const { status, issuer, issuedAt, expiresAt, nextAttemptAt, problem, browser } = certificate;
  const line = (label: string, text: string | null) =>
    text === null ? [] : labeled(label, plainSentence(text), beside, page);
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
          ...line('operator', `alerted at ${timeOf(escalation.openedAt)}: ${escalation.summary}`),
          ...line('', escalation.nextAction),
        ]),
  ];
}

const EVENTS_SHOWN = 5;

function eventLines(events: readonly EventShown[], page: TextLayout): readonly string[] {
  return events.slice(0, EVENTS_SHOWN).flatMap((event) => {
    const labelWidth = 22; // a time and two spaces
    const at = timeOf(plain(event.at)) ?? '';
    return labeled(at, plainSentence(eventInWords(event)), { indent: 2, labelWidth }, page);
  });
}

/** New and resolved findings by code; for other events the title and one explaining field. */
function eventInWords({ type, data }: EventShown): string {
  const [appeared, cleared] = [codesIn(data['appeared']), codesIn(data['cleared'])];
  const changes = [
    ...(appeared === '' ? [] : [`Found: ${appeared}`]),
    ...(cleared === '' ? [] : [`Resolved: ${cleared}`]),
  ];
  if (changes.length > 0) return changes.join('; ');
  const details = ['issuer', 'detail', 'summary'].map((field) => data[field]);
  const text = details.find((value) => typeof value === 'string');
  return text === undefined ? eventTitle(type) : `${eventTitle(type)}: ${text}`;
}

/** Empty if this is not a list of findings. */
function codesIn(findings: unknown): string {
  if (!Array.isArray(findings)) return '';
  return findings.flatMap((one) => (typeof one?.code === 'string' ? [one.code] : [])).join(', ');
}

function timeOf(time: string | null): string | null {
  return time && toSeconds(time);
}
