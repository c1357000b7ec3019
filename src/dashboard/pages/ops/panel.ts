import { type Html, html } from '../../../net/html.ts';

/** A card with a heading. `id`: problems link to it. `more`: beside the heading. */
export function panel(id: string, title: string, content: Html, more: Html | null = null): Html {
  return html`<section class="card panel" id="${id}" aria-labelledby="${id}-title"><div class="card-head"><h2 id="${id}-title">${title}</h2>${more}</div>
${content}</section>`;
}
