/** Times that move: each says how long ago it was, or how long it takes, by the server's clock. */
import { ago, exactly } from './ago.ts';

const main = document.getElementById('main');
/** How much the server's clock is ahead of this one, in milliseconds. */
let ahead = aheadIn(main);

function aheadIn(element: HTMLElement | null): number {
  const theirs = Date.parse(element?.dataset['now'] ?? '');
  return Number.isNaN(theirs) ? 0 : theirs - Date.now();
}

/**
 * Goes by the clock of a newer version of the page: the server wrote its time into it. Without one, by the browser's.
 */
export function setClock(newer: Document): void {
  ahead = aheadIn(newer.getElementById('main'));
}

/** Writes every relative time that reads otherwise by now, and touches no other. */
export function tick(): void {
  for (const time of document.querySelectorAll('time')) {
    const shown = time.querySelector('.ago');
    const isToCome = ['next-check', 'to-come'].includes(time.dataset['of'] ?? '');
    const text = ago(Date.parse(time.dateTime), Date.now() + ahead, isToCome);
    if (shown !== null && shown.textContent !== text) shown.textContent = text;
  }
}

/** Sets every time of this kind (`data-of`); `at`: RFC 3339, null leaves them as they are. */
export function move(which: 'last-check' | 'next-check', at: string | null): void {
  if (at === null) return;
  for (const time of document.querySelectorAll<HTMLTimeElement>(`time[data-of="${which}"]`)) {
    time.dateTime = at;
    if (time.title !== '') time.title = exactly(at);
    const exact = time.querySelector('.exact');
    if (exact !== null) exact.textContent = exactly(at);
  }
  tick();
}

/** Writes the relative times now and then every second, for as long as the page is there. Call it once. */
export function startTicking(): void {
  tick();
  setInterval(tick, 1_000);
}
