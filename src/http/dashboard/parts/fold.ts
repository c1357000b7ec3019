/** What is rarely needed, folded away: it opens by a click and by keyboard, with and without a script. */
import { type Html, html } from '../../html.ts';

/** `id`: it stays open while its part of the page is replaced (src/http/dashboard/browser/parts.ts). */
export function fold(id: string, title: string, content: Html): Html {
  return html`<details class="fold" id="${id}"><summary>${title}</summary>${content}</details>`;
}
