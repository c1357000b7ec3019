/** Fetches the page again and replaces changed `data-part` elements, which can be nested. */
import { say } from './forms.ts';
import { setClock, tick } from './times.ts';

/** Combines bursts of events; people do not read faster. */
const PACE_MS = 1_000;

let asking: Promise<boolean> | null = null;
let isAskedAgain = false;
let lastMs = Number.NEGATIVE_INFINITY;
let isLeaving = false;

/** At most once per PACE_MS. False: no usable answer. Rejects if the response is cut off. */
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
  isAskedAgain = false; // this fetch covers all requests so far
  lastMs = performance.now();
  return once();
}

async function once(): Promise<boolean> {
  let response: Response;
  try {
    response = await fetch(location.href, { headers: { accept: 'text/html' } });
  } catch {
    return false; // the server is unreachable; the stream reports its return
  }
  const came = new URL(response.url);
  if (came.pathname !== location.pathname) {
    isLeaving = true;
    location.assign(came); // the sign-in page, with a link back
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

/** The server's last version of each part. */
const written = new Map<string, string>();

rememberParts();

/** A part without its child parts, and without values changed by script or clock. */
function essence(part: Element): string {
  const copy = part.cloneNode(true) as Element; // a clone has the type of its original
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

export function rememberParts(): void {
  written.clear();
  for (const part of document.querySelectorAll('[data-part]')) written.set(part.id, essence(part));
}

/** Returns the changed parts' announcements. Parts missing in the newer page stay. */
export function replaceParts(newer: Document): readonly string[] {
  const said: string[] = [];
  for (const part of [...document.querySelectorAll<HTMLElement>('[data-part]')]) {
    if (!part.isConnected) continue; // removed together with its parent part
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

/** Updates the values that every check changes, without touching focus and open menus. */
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

/** Menus stay open and the focus is kept. */
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

/** Finds the same control in the newer part: by its ID, its menu, or its copy or link target. */
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
