/** Makes an element like a newer version of it without replacing what the reader is using. */

/** False if the focus kept a piece from being updated. Open menus and typed text stay. */
export function morph(old: Element, next: Element): boolean {
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
