/** What did not go as asked, at the head of what it is about. */
import type { ErrorBody } from '../../errors.ts';
import { type Html, html } from '../../html.ts';

/** An API's refusal above the form that it answers. */
export function refusal(error: ErrorBody | null): Html | null {
  if (error === null) return null;
  return html`<p class="refusal" role="alert">${reasonIn(error)}</p>`;
}

/** Without the place in a body, which people have not written: `domains.redirects[0]: …`. */
export function reasonIn({ message }: ErrorBody): string {
  return message.replace(/^[a-z]+(?:\.[a-z]+|\[\d+\])+: /, '');
}

/** Something that is done. It stands in the page when it comes, so it is in its title as well. */
export function notice(words: string): Html {
  return html`<p class="notice" role="status">${words}</p>`;
}
