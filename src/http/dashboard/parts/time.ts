/** A time on a page: relative where a script keeps it moving, exact where there is none, and in its title. */
import { attribute, type Html, html } from '../../html.ts';
import { ago, exactly } from '../browser/ago.ts';

/** What it is a time of. The script sets those of checks anew; what is to come is never `3 s ago`. */
export type TimeOf = 'last-check' | 'next-check' | 'to-come';

/** `at`: RFC 3339. */
export function relativeTime(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time datetime="${at}" title="${exactly(at)}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span><span class="exact">${exactly(at)}</span></time>`;
}

/** Both side by side, in a list of facts. */
export function bothTimes(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time class="both" datetime="${at}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span> <span class="exact always">${exactly(at)}</span></time>`;
}

function inWords(at: string, now: Date, of: TimeOf | null): string {
  return ago(Date.parse(at), now.getTime(), of === 'next-check' || of === 'to-come');
}
