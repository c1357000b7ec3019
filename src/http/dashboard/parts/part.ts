/** A part of a page that is put in place of the old one when it has changed (src/http/dashboard/browser/live.ts). */
import { attribute, type Html, html } from '../../html.ts';

/** `say`: what is told to who listens when this changes; the rest is found by looking. */
export function part(
  id: string,
  content: Html,
  more: { say?: string; className?: string } = {},
): Html {
  const { say, className } = more;
  return html`<div id="${id}" data-part${attribute('class', className ?? null)}${attribute('data-say', say ?? null)}>${content}</div>`;
}
