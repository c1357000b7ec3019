/** A domain is found by its name, wherever it is. */
import { type Html, html } from '../../../html.ts';
import type { SignedInRequest } from '../../page.ts';

export function searchForm({ link }: Pick<SignedInRequest, 'link'>, name: string): Html {
  return html`<search><form class="search" method="get" action="${link('/ops/domains')}">
<div class="field"><label for="name">Find a domain</label>
<input id="name" name="name" value="${name}" placeholder="docs.example.com, or a part of it" inputmode="url" autocomplete="off" autocapitalize="none" spellcheck="false" required></div>
<button>Find</button>
</form></search>`;
}
