import { ago, exactly } from './ago.ts';

const main = document.getElementById('main');
/** Milliseconds by which the server's clock is ahead of this one. */
let ahead = aheadIn(main);

function aheadIn(element: HTMLElement | null): number {
  const theirs = Date.parse(element?.dataset['now'] ?? '');
  return Number.isNaN(theirs) ? 0 : theirs - Date.now();
}

/** A newer version of the page contains the server's time. */
export function setClock(newer: Document): void {
  ahead = aheadIn(newer.getElementById('main'));
}

export function tick(): void {
  for (const time of document.querySelectorAll('time')) {
    const shown = time.querySelector('.ago');
    const isToCome = ['next-check', 'to-come'].includes(time.dataset['of'] ?? '');
    const text = ago(Date.parse(time.dateTime), Date.now() + ahead, isToCome);
    if (shown !== null && shown.textContent !== text) shown.textContent = text;
  }
}

/** `which`: the value of `data-of`; `at`: RFC 3339, null leaves the times unchanged. */
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

/** Updates relative times now and every second. Call it once. */
export function startTicking(): void {
  tick();
  setInterval(tick, 1_000);
}
