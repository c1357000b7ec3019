/** Fetches the page again and updates changed `data-part` elements, which can be nested. */
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

function rememberParts(): void {
  for (const part of document.querySelectorAll('[data-part]')) written.set(part.id, essence(part));
}

/** Returns the changed parts' announcements. Parts missing in the newer page stay. */
export function replaceParts(newer: Document): readonly string[] {
  const pairs = [...document.querySelectorAll<HTMLElement>('[data-part]')].flatMap((part) => {
    const next = newer.getElementById(part.id);
    return next === null ? [] : [{ part, next, newest: essence(next) }];
  });
  const changed = pairs.filter(({ part, newest }) => newest !== written.get(part.id));
  // Before the first update, because a part can contain others.
  const said = changed.flatMap(({ part, next }) => announcement(part, next));
  isBehind = false;
  for (const { part, next, newest } of pairs) {
    if (!part.isConnected) continue; // removed together with its parent part
    if (newest === written.get(part.id)) takeMoving(part, next);
    else if (update(part, next)) written.set(part.id, newest);
    else isBehind = true; // tried again once the focus has left
  }
  for (const part of document.querySelectorAll('[data-part]')) {
    if (!written.has(part.id)) written.set(part.id, essence(part));
  }
  return said;
}

function announcement(part: HTMLElement, next: HTMLElement): readonly string[] {
  const words = next.dataset['say'];
  return words === undefined || words === part.dataset['say'] ? [] : [words];
}

let isBehind = false;
document.addEventListener('focusout', () => {
  if (isBehind) void refresh();
});

/** False if a piece that has the focus could not be updated in place. */
function update(part: HTMLElement, next: HTMLElement): boolean {
  const isDone = morph(part, next);
  part.classList.remove('changed');
  void part.offsetWidth; // restarts the animation
  part.classList.add('changed');
  return isDone;
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

// Makes an element like a newer version of it without replacing what the reader is using.

/** False if the focus kept a piece from being updated. Open menus and typed text stay. */
function morph(old: Element, next: Element): boolean {
  copyAttributes(old, next);
  if (isReaders(old)) return true;
  let isDone = true;
  let at: ChildNode | null = old.firstChild;
  for (const wanted of next.childNodes) {
    const found = following(at, wanted);
    if (found === null) {
      old.insertBefore(document.importNode(wanted, true), at);
      continue;
    }
    isDone = removeUntil(at, found) && isDone;
    isDone = morphNode(found, wanted) && isDone;
    at = found.nextSibling;
  }
  return removeUntil(at, null) && isDone;
}

/** The first sibling of the same kind: what is between was removed in the newer page. */
function following(from: ChildNode | null, wanted: ChildNode): ChildNode | null {
  for (let one = from; one !== null; one = one.nextSibling) {
    if (kindOf(one) === kindOf(wanted)) return one;
  }
  return null;
}

/** Two nodes match only if their name, ID, first class and `data-key` are equal. */
function kindOf(node: ChildNode): string {
  if (!(node instanceof Element)) return node.nodeName;
  return `${node.nodeName} ${node.id} ${node.classList[0] ?? ''} ${node.getAttribute('data-key') ?? ''}`;
}

/** False if one of them has the focus, and stays. */
function removeUntil(from: ChildNode | null, end: ChildNode | null): boolean {
  let isDone = true;
  for (let one = from; one !== null && one !== end; ) {
    const { nextSibling } = one;
    if (one.contains(document.activeElement)) isDone = false;
    else one.remove();
    one = nextSibling;
  }
  return isDone;
}

function morphNode(old: ChildNode, next: ChildNode): boolean {
  if (old instanceof Element && next instanceof Element) return morph(old, next);
  if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
  return true;
}

/** What scripts and readers change: the copy button's word, the preview of a name, a choice. */
function isReaders(element: Element): boolean {
  return element.matches('[data-copy], [data-reading], select');
}

/** Kept although the newer page does not have them. */
const kept: ReadonlySet<string> = new Set(['open', 'aria-busy']);

function copyAttributes(old: Element, next: Element): void {
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !kept.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}
