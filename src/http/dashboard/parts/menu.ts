/** A menu behind three dots. It opens without a script; with one it closes by Escape and by a click elsewhere. */
import { type Html, html } from '../../html.ts';

/** `of`: what the menu is about, for who hears it. `id`: the menu stays open while its part of the page is replaced. */
export function menu(id: string, of: string, items: readonly Html[]): Html {
  return html`<details class="menu" id="${id}"><summary aria-label="More for ${of}"><span aria-hidden="true">⋯</span></summary><ul>${items.map((item) => html`<li>${item}</li>`)}</ul></details>`;
}
