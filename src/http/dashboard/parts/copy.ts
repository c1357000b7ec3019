/** Text that people copy, and the button that does it; without a script there is none. */
import { type Html, html } from '../../html.ts';

/** `what` completes “Copy”, for who hears it. */
export function copyable(text: string, what: string): Html {
  return html`<span class="copyable"><code>${text}</code><button type="button" class="copy" data-copy="${text}" aria-label="Copy ${what}">Copy</button></span>`;
}
