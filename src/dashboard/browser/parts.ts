/**
 * Puts the parts of a newer version of a page in place: elements with `data-part`, each known by its id. A part that is the
 * same stays untouched; of one that changed only in parts of its own, those are replaced alone. Times are no change.
 */

/** What the server last wrote of each part. */
const written = new Map<string, string>();

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

export function rememberParts(): void {
  written.clear();
  for (const part of document.querySelectorAll('[data-part]')) written.set(part.id, essence(part));
}

/** Gives back what there is to say of the parts that changed. */
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

/** What every check changes, into a part that is the same otherwise. */
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

/** Menus stay open, and the focus where it was. */
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

/** A selector that finds the same control in the newer part. */
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
