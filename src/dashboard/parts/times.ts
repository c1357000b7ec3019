import { attribute, type Html, html } from '../../net/html.ts';
import { ago, exactly } from '../browser/ago.ts';

/** The script updates check times; a `to-come` time is never shown as past. */
type TimeOf = 'last-check' | 'next-check' | 'to-come';

/** `3 s ago`, updated by the script, with the exact time on demand. `at`: RFC 3339. */
export function relativeTime(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time datetime="${at}" title="${exactly(at)}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span><span class="exact">${exactly(at)}</span></time>`;
}

export function bothTimes(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time class="both" datetime="${at}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span> <span class="exact always">${exactly(at)}</span></time>`;
}

function inWords(at: string, now: Date, of: TimeOf | null): string {
  return ago(Date.parse(at), now.getTime(), of === 'next-check' || of === 'to-come');
}
