import { eventTitle } from '../../../core/life/events.ts';
import { printable } from '../../../core/names/printable.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Event, FindingView } from '../../client.ts';
import { fold, relativeTime } from '../../parts/elements.ts';

/** Bounds the page of an old domain. */
const [SHOWN, FOLDED] = [3, 22];

/** `events`: newest first. */
export function timelineSection(events: readonly Event[], now: Date): Html {
  const list = (some: readonly Event[]) =>
    html`<ol class="timeline">${some.map((event) => entry(event, now))}</ol>`;
  const older = events.slice(SHOWN, SHOWN + FOLDED);
  const more =
    events.length <= SHOWN + FOLDED
      ? null
      : html`<p class="quiet">Earlier events are in the API’s timeline.</p>`;
  return html`<h2>Timeline</h2>
${list(events.slice(0, SHOWN))}
${older.length === 0 ? null : fold('older-events', `Earlier events (${older.length})`, html`${list(older)}${more}`)}`;
}

function entry(event: Event, now: Date): Html {
  const details = detailsOf(event);
  return html`<li><p><span class="what">${eventTitle(event.type)}</span> ${relativeTime(event.at, now)}</p>
${details.length === 0 ? null : html`<ul>${details.map((words) => html`<li>${words}</li>`)}</ul>`}</li>`;
}

/** Lines per event, and characters per line; the findings above have the details. */
const [DETAILS_MAX, DETAIL_LENGTH_MAX] = [4, 300];

function detailsOf(event: Event): readonly string[] {
  // always an object; its fields depend on the type
  const data = event.data as Readonly<Record<string, unknown>>;
  const lines = [
    ...findingsIn(data, 'appeared').map((summary) => `Found: ${summary}`),
    ...findingsIn(data, 'cleared').map((summary) => `Resolved: ${summary}`),
    ...findingsIn(data, 'findings'),
    ...textsIn(data, ['issuer', 'detail', 'found', 'summary']),
  ];
  return lines.slice(0, DETAILS_MAX).map((line) => printable(line, DETAIL_LENGTH_MAX));
}

function findingsIn(data: Readonly<Record<string, unknown>>, field: string): readonly string[] {
  const findings = data[field] as readonly FindingView[] | undefined; // as the API documents them
  return (findings ?? []).map(({ summary }) => summary);
}

function textsIn(data: Readonly<Record<string, unknown>>, fields: readonly string[]) {
  return fields.map((field) => data[field]).filter((value) => typeof value === 'string');
}
