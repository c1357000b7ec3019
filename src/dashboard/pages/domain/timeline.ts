import { explainProblem } from '../../../core/certificates/problem-words.ts';
import { eventTitle } from '../../../core/life/events.ts';
import { printable } from '../../../core/names/printable.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Event, FindingView } from '../../client.ts';
import { fold, relativeTime } from '../../parts/elements.ts';

/** Bounds the page of an old domain. */
const [SHOWN, FOLDED] = [4, 22];

/** `events`: newest first. */
export function timelineCard(events: readonly Event[], now: Date): Html {
  const list = (some: readonly Event[]) =>
    html`<ol class="timeline">${some.map((event) => entry(event, now))}</ol>`;
  const older = events.slice(SHOWN, SHOWN + FOLDED);
  const more =
    events.length <= SHOWN + FOLDED
      ? null
      : html`<p class="quiet small">Earlier events are in the API’s timeline.</p>`;
  return html`<section class="card" aria-labelledby="timeline-title"><div class="card-head"><h2 id="timeline-title">Timeline</h2></div>
${list(events.slice(0, SHOWN))}
${older.length === 0 ? null : fold('older-events', `${older.length} earlier ${older.length === 1 ? 'event' : 'events'}`, html`${list(older)}${more}`)}</section>`;
}

function entry(event: Event, now: Date): Html {
  const details = detailsOf(event);
  return html`<li>${relativeTime(event.at, now)}<div><p>${eventTitle(event.type)}</p>${details.map((words) => html`<p class="quiet">${words}</p>`)}</div></li>`;
}

/** Lines per event, and characters per line; the card above has the details. */
const [DETAILS_MAX, DETAIL_LENGTH_MAX] = [4, 300];

function detailsOf(event: Event): readonly string[] {
  // always an object; its fields depend on the type
  const data = event.data as Readonly<Record<string, unknown>>;
  const lines = [
    ...findingsIn(data, 'appeared'),
    ...findingsIn(data, 'cleared').map((summary) => `Resolved: ${summary}`),
    ...findingsIn(data, 'findings'),
    ...problemIn(data),
    ...textsIn(data, ['issuer', 'found']),
  ];
  return lines.slice(0, DETAILS_MAX).map((line) => printable(line, DETAIL_LENGTH_MAX));
}

function findingsIn(data: Readonly<Record<string, unknown>>, field: string): readonly string[] {
  const findings = data[field] as readonly FindingView[] | undefined; // as the API documents them
  return (findings ?? []).map(({ summary }) => summary);
}

/** In our words: the CA’s own text, a network error or an escalation’s summary is for operators. */
function problemIn({ problem }: Readonly<Record<string, unknown>>): readonly string[] {
  return typeof problem === 'string' ? [explainProblem(problem).summary] : [];
}

function textsIn(data: Readonly<Record<string, unknown>>, fields: readonly string[]) {
  return fields.map((field) => data[field]).filter((value) => typeof value === 'string');
}
