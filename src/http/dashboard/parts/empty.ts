/** What stands where there is nothing yet, and what to do about it. */
import { type Html, html } from '../../html.ts';

export function empty(title: string, words: string, then: Html | null = null): Html {
  return html`<div class="empty"><p class="title">${title}</p><p>${words}</p>${then}</div>`;
}
