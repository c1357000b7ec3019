/**
 * Asks for the page again, and puts in place what has changed. Parts are what the server marks with `data-part`; each
 * has an id, and may have others within it.
 */
import { say } from './forms.ts';
import { setClock, tick } from './times.ts';

/** Our choice: nobody reads faster, and what happens in a rush is asked for once. */
const PACE_MS = 1_000;

let asking: Promise<boolean> | null = null;
let isAskedAgain = false;
let lastMs = Number.NEGATIVE_INFINITY;
/** Another page is on its way: this one is done with. */
let isLeaving = false;

/**
 * Asks for the page again, at most once a second. True: the page is as the server has it, or another one is on its
 * way. False: no answer came, or one whose status is no success. Asked for while it is being asked for, it is asked
 * for once more. Rejects where the answer breaks off.
 */
export function refresh(): Promise<boolean> {
  if (isLeaving) return Promise.resolve(true);
  if (asking !== null) {
    isAskedAgain = true;
    return asking;
  }
  asking = paced().finally(() => {
    asking = null;
    if (!isAskedAgain) return;
    isAskedAgain = false;
    void refresh();
  });
  return asking;
}

async function paced(): Promise<boolean> {
  const waitMs = lastMs + PACE_MS - performance.now();
  if (waitMs > 0) await new Promise((done) => setTimeout(done, waitMs));
  isAskedAgain = false; // what is asked now knows of all that asked for it
  lastMs = performance.now();
  return once();
}

/** One request, and what becomes of it. */
async function once(): Promise<boolean> {
  let response: Response;
  try {
    response = await fetch(location.href, { headers: { accept: 'text/html' } });
  } catch {
    return false; // nobody is there; the stream says when somebody is again
  }
  const came = new URL(response.url);
  if (came.pathname !== location.pathname) {
    isLeaving = true;
    location.assign(came); // the sign-in, with the way back
    return true;
  }
  if (response.status === 404) {
    isLeaving = true;
    location.reload();
  }
  if (!response.ok) return false;
  const newer = new DOMParser().parseFromString(await response.text(), 'text/html');
  setClock(newer);
  document.title = newer.title;
  const said = replaceParts(newer);
  tick();
  if (said.length > 0) say(said.join(' '));
  return true;
}

/** What the server last wrote of each part. */
const written = new Map<string, string>();

rememberParts();

/** A part without its own parts, and without what a script or the clock changes. */
function essence(part: Element): string {
  const copy = part.cloneNode(true) as Element; // a clone is of its original's kind
  for (const inner of copy.querySelectorAll('[data-part]')) inner.replaceWith(inner.id);
  for (const time of copy.querySelectorAll('time')) time.replaceChildren();
  for (const time of copy.querySelectorAll('time[data-of$="-check"]')) time.replaceWith('time');
  for (const count of copy.querySelectorAll('[data-attempts]')) count.remove();
  for (const details of copy.querySelectorAll('details')) details.removeAttribute('open');
  for (const place of copy.querySelectorAll('[data-reading]')) place.replaceChildren();
  copy.classList.remove('changed');
  if (copy.classList.length === 0) copy.removeAttribute('class');
  return copy.outerHTML;
}

/** Notes every part as it now is in the document, in place of what was noted before. */
export function rememberParts(): void {
  written.clear();
  for (const part of document.querySelectorAll('[data-part]')) written.set(part.id, essence(part));
}

/**
 * Replaces every part that the newer page has otherwise; in the others only what a check moves. Returns what is to be
 * said of those that changed, in their order on the page. What the newer page lacks stays.
 */
export function replaceParts(newer: Document): readonly string[] {
  const said: string[] = [];
  for (const part of [...document.querySelectorAll<HTMLElement>('[data-part]')]) {
    if (!part.isConnected) continue; // went with the part around it
    const next = newer.getElementById(part.id);
    if (next === null) continue;
    if (essence(next) === written.get(part.id)) {
      takeMoving(part, next);
      continue;
    }
    const words = next.dataset['say'];
    if (words !== undefined && words !== part.dataset['say']) said.push(words);
    replace(part, document.importNode(next, true));
  }
  rememberParts();
  return said;
}

/**
 * Takes what every check changes into a part that is the same otherwise, so that focus and open menus are left alone.
 */
function takeMoving(part: Element, next: Element): void {
  const of = (one: Element) => [
    ...one.querySelectorAll('time[data-of$="-check"], [data-attempts]'),
  ];
  const newer = of(next);
  for (const [index, old] of of(part).entries()) {
    const one = newer[index];
    if (one !== undefined) old.replaceWith(document.importNode(one, true));
  }
}

/** Puts the new part in place of the old one; menus stay open, and the focus is where it was. */
function replace(part: HTMLElement, next: HTMLElement): void {
  const open = [...part.querySelectorAll('details[open][id]')].map(({ id }) => id);
  const focused = part.contains(document.activeElement) ? wayTo(document.activeElement) : null;
  next.classList.add('changed');
  part.replaceWith(next);
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  if (focused === null) return;
  const again = next.querySelector<HTMLElement>(focused);
  (again ?? document.getElementById('main'))?.focus({ preventScroll: true });
}

/**
 * A selector that finds the same control in the newer part: by its id, by its menu, or by what it copies or leads to.
 */
function wayTo(element: Element | null): string {
  if (element === null) return 'none';
  if (element.id !== '') return `#${CSS.escape(element.id)}`;
  const menu = element.matches('summary') ? element.parentElement?.id : undefined;
  if (menu !== undefined) return `#${CSS.escape(menu)} > summary`;
  for (const name of ['data-copy', 'href']) {
    const value = element.getAttribute(name);
    if (value !== null) return `[${name}="${CSS.escape(value)}"]`;
  }
  return element.tagName;
}
